"""The tool's table of axes: what a cell is, and that the engine means the same by it."""
import os
import random
import subprocess
import tempfile
import unittest

from parity_support import cell

from cells import AXES, CHOICE, NAMES, SWITCH, UsageError, key, to_flags, to_texts, why_impossible, why_not_on
from sample import draw

CULPRIT = os.environ.get("CULPRIT")
SCENARIO = "skip_identity_leaf"


class CellsTest(unittest.TestCase):
    def test_defaults_follow_pp(self):
        self.assertEqual(cell()["blocks"], 2)
        self.assertEqual(cell(pp=5)["blocks"], 5)
        self.assertEqual(cell(pp=5, blocks=10)["blocks"], 10)

    def test_key_is_equal_for_equal_cells_only(self):
        self.assertEqual(key(cell(loss_scale=3)), key(cell(loss_scale=3.0)))
        self.assertNotEqual(key(cell(tp=4)), key(cell(tp=2)))

    def test_flags_leave_defaults_out(self):
        self.assertEqual(to_flags(cell()), "")
        self.assertEqual(to_flags(cell(pp=1, embed=0, residual=1, loss_scale=1024.0)),
                         "--pp=1 --residual --no-embed --loss-scale=1024")
        self.assertEqual(to_flags(cell(pp=4, blocks=8)), "--pp=4 --blocks=8")

    def test_values_are_checked(self):
        axes = {axis.name: axis for axis in AXES}
        for name, text in (("tp", "0"), ("tp", "two"), ("identity", "clone"), ("residual", "yes"), ("loss_scale", "-1")):
            with self.subTest(name), self.assertRaisesRegex(UsageError, f"{name}: got '{text}', expected"):
                axes[name].parse(text)


@unittest.skipUnless(CULPRIT, "CULPRIT names no program")
class EngineMeansTheSameTest(unittest.TestCase):
    """Without these a toggle that is added to the engine would never be sampled."""

    def run_cells(self, header, *lines):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "in.csv")
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join([",".join(header), *(",".join(line) for line in lines)]) + "\n")
            return subprocess.run([CULPRIT, "cells", source, "--out", os.path.join(folder, "out.csv")],
                                  capture_output=True, text=True, timeout=60, check=False)

    def test_axes_are_the_engines_columns(self):
        refusal = self.run_cells(["no_such_column"]).stderr
        listed = refusal.split("known are ")[1].split(" and the result columns")[0].split(", ")
        # The framework runs float32 here, whatever the engine can do.
        self.assertEqual(sorted(listed), sorted(NAMES + ("framework", "dtype")))

    def test_choices_are_the_engines(self):
        for axis in AXES:
            if axis.form == CHOICE:
                refusal = self.run_cells([axis.name], ["no_such_value"]).stderr
                self.assertIn("expected one of " + ", ".join(axis.values), refusal)

    def test_defaults_are_the_engines(self):
        # A file with one column, and the same cell with every column: both must come to the same.
        def result(header, values):
            with tempfile.TemporaryDirectory() as folder:
                source, target = os.path.join(folder, "in.csv"), os.path.join(folder, "out.csv")
                with open(source, "w", encoding="utf-8") as file:
                    file.write(",".join(header) + "\n" + ",".join(values) + "\n")
                subprocess.run([CULPRIT, "cells", source, "--out", target], timeout=60, check=True)
                with open(target, encoding="utf-8") as file:
                    return file.read().splitlines()[1].split(",", len(header))[len(header)]

        self.assertEqual(result(["tp"], ["2"]), result(NAMES, to_texts(cell())))

    def test_impossible_cells_are_those_that_the_engine_refuses(self):
        rng = random.Random(7)
        seen = {True: 0, False: 0}
        while min(seen.values()) < 25:
            anything = {axis.name: rng.choice(axis.values) if axis.form == CHOICE else rng.randint(0, 1)
                        if axis.form == SWITCH else rng.randint(1, 4) for axis in AXES} | {"hidden": 8}
            refused = bool(why_impossible(anything) or why_not_on("paddle@3.3.1", anything))
            if seen[refused] >= 25:
                continue
            seen[refused] += 1
            done = self.run_cells(NAMES, to_texts(anything))
            self.assertEqual(done.returncode, 2 if refused else 0, f"{to_texts(anything)}: {done.stderr}")

    def test_flags_make_the_cell(self):
        scenario = os.path.join(os.path.dirname(CULPRIT), SCENARIO)
        rng = random.Random(3)
        for _ in range(3):
            drawn = draw(rng)
            # --acc: with any flag the scenario's own claim is left aside.
            command = [scenario, f"--acc={drawn['acc']}", *to_flags(drawn).replace(f"--acc={drawn['acc']}", "").split()]
            line = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
            for axis, text in zip(AXES, to_texts(drawn)):
                self.assertIn(f'"{axis.name}":"{text}"', line.replace(" ", ""))


if __name__ == "__main__":
    unittest.main()
