"""Scenarios that can be run on the framework too, and what each needs there."""
import difflib
from dataclasses import dataclass

from cells import AXES, NAMES, UsageError


@dataclass(frozen=True)
class Scenario:
    name: str              # of the scenario program
    blocks: dict           # by framework: the module of framework/ that builds its blocks; FRAMEWORK_rank runs a rank
    ignores: tuple = ()    # axes that its model does not have: they stay at their default
    least_tp: int = 1
    addition: str = ""     # a package beside the framework: its requirements file's name
    frameworks: tuple = ()  # releases on which the addition runs; empty: all

    def with_own_axes(self, cell):
        """The cell with the axes that the model does not have at their defaults."""
        return cell | {axis.name: axis.default for axis in AXES if axis.name in self.ignores}

    def why_impossible(self, cell):
        """Why a cell is none of this scenario, in words; empty if it is one."""
        if cell["tp"] < self.least_tp:
            return f"{self.name} needs tp {self.least_tp} or more"
        plain = self.with_own_axes(cell)
        other = [name for name in NAMES if plain[name] != cell[name]]
        return f"{self.name} has no {other[0]}; leave it at {plain[other[0]]}" if other else ""

    def check_framework(self, framework):
        if self.frameworks and framework not in self.frameworks:
            raise UsageError(f"{self.name} runs on {' or '.join(self.frameworks)} only, got {framework}")

    def blocks_on(self, framework):
        """The module of its blocks on a release that check_framework lets pass."""
        return self.blocks[framework.split("@")[0]]


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("skip_identity_leaf", blocks={"paddle": "paddle_stack", "torch": "torch_stack"}),
        Scenario("skip_identity_qlora", blocks={"paddle": "paddleformers_qlora"},
                 ignores=("path", "first_op", "fan_out", "tail", "residual"), least_tp=2,
                 addition="paddleformers-1.2.0", frameworks=("paddle@3.3.1",)),
    )
}


def scenario_named(name):
    if name not in SCENARIOS:
        near = difflib.get_close_matches(name, SCENARIOS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"unknown scenario '{name}', known: {', '.join(SCENARIOS)}{hint}")
    return SCENARIOS[name]
