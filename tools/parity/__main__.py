"""Does this project's engine do what the released framework does? Runs cells on both and compares.

    python3 tools/parity --sample 200 --seed 1            random cells, all sizes and toggles
    python3 tools/parity --cells FILE.csv                 chosen cells (columns: docs/schemas.md)
    python3 tools/parity --framework torch@2.15.0 --sample 200          the same for PyTorch
    python3 tools/parity --versions paddle@2.6.2 paddle@3.3.1 --sweep   what changed between releases
    python3 tools/parity --fixes --sweep                  candidate fixes, tried on the framework itself

The framework is installed from PyPI into build/parity/ at the first use; no GPU is needed. Exit status: 0 all cells agree
(with --versions: nothing changed), 1 differences, 2 usage, 3 could not set up, 77 the framework can't be installed here."""
import argparse
import csv
import os
import subprocess
import sys

import environment
import report
from cells import NAMES, NotHereError, SetupError, UsageError, identities_of, to_texts, why_not_on
from check import run_framework
from compare import compare_versions
from engine import run_engine
from fixes import measure_costs, try_fixes
from progress import Progress
from results import class_of, read_cells
from sample import stratified
from scenarios import SCENARIOS, scenario_named
from sweep import sweep
from workers import Target

DEFAULT_SAMPLE = 200
DEFAULT_SCENARIO = "skip_identity_leaf"


def parse(argv):
    parser = argparse.ArgumentParser(prog="tools/parity", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    known = environment.known_frameworks()
    parser.add_argument("--scenario", default=DEFAULT_SCENARIO, metavar="NAME",
                        help=f"whose model: {', '.join(SCENARIOS)} (default {DEFAULT_SCENARIO})")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--sample", type=_positive, metavar="N",
                      help=f"N random cells over the whole flag space (default {DEFAULT_SAMPLE}); every outcome and "
                           "kind that the engine meets makes at least 3 %% of them")
    what.add_argument("--sweep", action="store_true", help="every cell of the default size")
    what.add_argument("--cells", metavar="FILE.csv", help="these cells; result columns in it are ignored")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--framework", default=known[0], help=f"{' or '.join(known)} (default {known[0]})")
    parser.add_argument("--versions", nargs=2, metavar=("OLD", "NEW"),
                        help="compare two releases (or two frameworks) instead, and name the cells that changed")
    parser.add_argument("--fixes", action="store_true",
                        help="try candidate fixes of the skipped identity on the framework, at each of the cells that "
                             "fails because of it; prints a table")
    parser.add_argument("--engine", action="store_true",
                        help="with --versions: the engine under both releases' rules, no framework")
    parser.add_argument("--record", metavar="FILE.csv",
                        help="append what the framework did, cell by cell; cells that stand there are not run again")
    parser.add_argument("--out", metavar="FILE.csv", help="write the cells that differ (changed)")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count(), help="cells at a time (default: all cores)")
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PATH",
                        help="an interpreter that has this release, instead of installing it; may be repeated")
    parser.add_argument("--culprit", metavar="PATH", help="the culprit program (default: the newest in build/)")
    args = parser.parse_args(argv)
    if args.engine and not args.versions:
        parser.error("--engine goes with --versions")
    if args.record and (args.versions or args.fixes):
        parser.error("--record holds one release's rows of unchanged cells: it does not go with --versions or --fixes")
    if args.fixes and not args.framework.startswith("paddle@"):
        parser.error(f"--fixes patches PaddlePaddle's identity operator: it does not go with --framework {args.framework}")
    if args.versions and args.fixes:
        parser.error("--fixes tries one release: it does not go with --versions")
    return args


def _positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got '{text}', expected a whole number above 0")
    return int(text)


class Run:
    """What the flags come to."""

    def __init__(self, args):
        self.args = args
        self.scenario = scenario_named(args.scenario)
        self.culprit = args.culprit or environment.find_culprit()
        self.pythons = {}
        for given in args.python:
            name, _, path = given.partition("=")
            environment.check_known(name)
            self.pythons[name] = path

    def target(self, framework):
        environment.check_known(framework)
        self.scenario.check_framework(framework)
        python = self.pythons.get(framework) or environment.interpreter_for(framework, self.scenario.addition)
        return Target(python, framework, self.scenario.blocks_on(framework))

    def engine_rows(self, cells, framework):
        bar = Progress(f"cells on the engine as {framework}", len(cells))
        try:
            return run_engine(self.culprit, self.scenario.name, cells, framework, self.args.jobs, bar.update)
        finally:
            bar.clear()

    def cells(self, frameworks):
        """The chosen or random cells. A sample for two releases is topped up by what it comes to in both."""
        if self.args.cells:
            cells = read_cells(self.args.cells)
            if not cells:
                raise UsageError(f"{self.args.cells}: holds no cells")
            for number, cell in enumerate(cells, start=1):
                reasons = [self.scenario.why_impossible(cell)] + [why_not_on(framework, cell) for framework in frameworks]
                if reason := next(filter(None, reasons), ""):
                    raise UsageError(f"{self.args.cells}: cell {number}: {reason}")
            return cells
        identities = [identity for identity in identities_of(frameworks[0])
                      if all(identity in identities_of(framework) for framework in frameworks)]
        if self.args.sweep:
            return [cell for cell in sweep(identities) if not self.scenario.why_impossible(cell)]

        def classify(batch):
            columns = [[class_of(row) for row in self.engine_rows(batch, framework)] for framework in frameworks]
            return list(zip(*columns))

        return stratified(self.scenario, self.args.sample or DEFAULT_SAMPLE, self.args.seed, classify, identities)

    def write(self, cells, notes):
        """--out: the cells with a word on each."""
        if not self.args.out:
            return
        partial = self.args.out + ".partial"
        with open(partial, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(NAMES + ("detail",))
            writer.writerows(to_texts(cell) + [note] for cell, note in zip(cells, notes))
        os.replace(partial, self.args.out)


def check(run):
    framework = run.args.framework
    target = run.target(framework)
    cells = run.cells([framework])
    engine_rows = run.engine_rows(cells, framework)
    checked = run_framework(target, cells, run.args.jobs, run.args.record, engine_rows)
    version = subprocess.run([run.culprit, "--version"], capture_output=True, text=True, timeout=60, check=False)
    print(report.agreement(run.scenario, framework, cells, checked, version.stdout.strip()))
    run.write([d.cell for d in checked.differences], [d.text for d in checked.differences])
    return 1 if checked.differences else 0


def compare_releases(run):
    old, new = run.args.versions
    for framework in (old, new):
        environment.check_known(framework)
    if old == new:
        raise UsageError(f"--versions: twice {old}; expected two different releases")
    targets = {} if run.args.engine else {framework: run.target(framework) for framework in (old, new)}
    cells = run.cells([old, new])
    rows = {}
    for framework in (old, new):
        if run.args.engine:
            rows[framework] = run.engine_rows(cells, framework)
        else:
            rows[framework] = run_framework(targets[framework], cells, run.args.jobs, None).rows
    comparison = compare_versions(cells, rows[old], rows[new])
    source = "the engine's rules" if run.args.engine else "the releases themselves"
    print(report.versions(run.scenario, old, new, source, cells, comparison))
    notes = [(cell, change.headline(new)) for change in comparison.changes for cell in change.cells]
    run.write([cell for cell, _ in notes], [note for _, note in notes])
    return 1 if comparison.changes or comparison.moved else 0


def tabulate_fixes(run):
    framework = run.args.framework
    target = run.target(framework)
    table = try_fixes(run.scenario, target, run.cells([framework]), run.args.jobs)
    print(report.fixes(run.scenario, framework, table, measure_costs(target)))
    return 0


def main(argv):
    args = parse(argv)
    try:
        run = Run(args)
        if args.fixes:
            return tabulate_fixes(run)
        return compare_releases(run) if args.versions else check(run)
    except UsageError as error:
        print(f"parity: {error}", file=sys.stderr)
        return 2
    except (SetupError, OSError) as error:
        print(f"parity: {error}", file=sys.stderr)
        return 77 if isinstance(error, NotHereError) else 3
    except KeyboardInterrupt:
        kept = f"; what ran is in {args.record}" if args.record else ""
        print(f"parity: stopped{kept}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
