"""What a candidate fix did to a cell, and which cells are tried."""
import unittest
from unittest import mock

from parity_support import cell, row

import fixes
from fixes import effect, mode_of, try_fixes
from scenarios import SCENARIOS
from workers import Target


class EffectTest(unittest.TestCase):
    ERROR = row(outcome="ERROR", kind="LEAF_INPLACE", where="stage1.tp0:forward 0", checksum="")
    WRONG = row(outcome="WRONG_GRAD", where="embed@stage0.tp0")

    def test_words(self):
        self.assertEqual(effect(self.ERROR, row()), "clears")
        self.assertEqual(effect(self.ERROR, self.ERROR), "no effect")
        self.assertEqual(effect(self.ERROR, self.WRONG), "turns silent")
        self.assertEqual(effect(self.WRONG, self.WRONG | {"checksum": "embed@0.0=3"}), "still wrong")
        self.assertEqual(effect(self.WRONG, self.ERROR), "fails differently")
        self.assertEqual(effect(self.ERROR, self.ERROR | {"kind": "NO_INPUT_GRAD"}), "fails differently")

    def test_modes(self):
        self.assertEqual(mode_of(cell(), self.ERROR), "LEAF_INPLACE in forward")
        self.assertEqual(mode_of(cell(residual=1), self.WRONG), "WRONG_GRAD, input used again")
        self.assertEqual(mode_of(cell(fan_out=2, recompute="nonreentrant"), self.WRONG),
                         "WRONG_GRAD, several linears on one input")


class TryFixesTest(unittest.TestCase):
    def test_only_what_fails_because_of_skip_is_tried(self):
        """A framework in which skip fails at fan-out 2, everything fails at fan-out 3, and a view clears."""
        ran = []

        def framework(target, cells, jobs, take):
            for index, each in enumerate(cells):
                ran.append(each)
                skip_fails = each["fan_out"] == 2 and each["identity"] == "skip" and each.get("patch") != "view"
                result = row(outcome="WRONG_GRAD") if skip_fails or each["fan_out"] == 3 else row()
                take(index, lambda fresh, result=result: result)

        cells = [cell(fan_out=fan_out) for fan_out in (1, 2, 3)] + [cell(tp=1), cell(path="overlap")]
        with mock.patch.object(fixes, "run_cells", framework):
            table = try_fixes(SCENARIOS["skip_identity_leaf"], Target("python", "paddle@3.3.1", "blocks"), cells, 1)
        self.assertEqual((table.passing, table.not_by_skip, dict(table.modes)), (1, 1, {"WRONG_GRAD": 1}))
        self.assertEqual(table.effects["view", "WRONG_GRAD"], {"clears": 1})
        self.assertEqual(table.effects["copy", "WRONG_GRAD"], {"no effect": 1})
        self.assertEqual(table.effects["other recompute", "WRONG_GRAD"], {"not applicable": 1})
        self.assertEqual(len(ran), 6 + len(fixes.CANDIDATES) - 1)


if __name__ == "__main__":
    unittest.main()
