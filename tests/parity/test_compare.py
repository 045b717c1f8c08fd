"""What counts as a difference, and what changed between releases."""
import unittest

from parity_support import cell, row

from compare import compare_versions, difference


class DifferenceTest(unittest.TestCase):
    def test_equal_rows(self):
        self.assertEqual(difference(row(), row()), "")

    def test_each_column_is_looked_at(self):
        for change in ({"outcome": "WRONG_GRAD"}, {"kind": "LEAF_INPLACE"}, {"where": "embed@stage0.tp0"},
                       {"freed": "1"}, {"loss": "0.5001"}, {"loss": ""}, {"checksum": "embed@0.0=2.001"},
                       {"checksum": "embed@0.1=2"}, {"checksum": ""}):
            with self.subTest(change):
                self.assertNotEqual(difference(row(**change), row()), "")

    def test_numbers_agree_within_rounding(self):
        self.assertEqual(difference(row(loss="0.50004", checksum="embed@0.0=2.0001"), row()), "")
        self.assertEqual(difference(row(checksum="embed@0.0=3e-08"), row(checksum="embed@0.0=0")), "")
        self.assertEqual(difference(row(checksum="embed@0.0=nan"), row(checksum="embed@0.0=nan")), "")
        self.assertNotEqual(difference(row(checksum="embed@0.0=nan"), row()), "")
        self.assertNotEqual(difference(row(), row(checksum="embed@0.0=nan")), "")

    def test_what_float32_cannot_tell_is_no_difference(self):
        off = row(checksum="embed@0.0=2.0008")
        self.assertNotEqual(difference(off, row()), "")
        self.assertNotEqual(difference(off, row(rounding="2e-05")), "")
        self.assertEqual(difference(off, row(rounding="9e-05")), "")
        self.assertEqual(difference(row(loss="0.5002"), row(rounding="9e-05")), "")
        self.assertNotEqual(difference(off | {"outcome": "WRONG_GRAD"}, row(rounding="9e-05")), "")

    def test_of_a_wrong_gradient_any_that_ties_may_be_named(self):
        names = {"outcome": "WRONG_GRAD", "where": "row0@stage0.tp4"}
        expected = row(outcome="WRONG_GRAD", where="row0@stage0.tp2", ties="row0@stage0.tp2 row0@stage0.tp4")
        self.assertEqual(difference(row(**names), expected), "")
        self.assertNotEqual(difference(row(**names), expected | {"ties": ""}), "")
        self.assertNotEqual(difference(row(**names), expected | {"outcome": "MISSING_GRAD"}), "")


class VersionsTest(unittest.TestCase):
    def test_changes_are_named_by_their_direction(self):
        error = {"outcome": "ERROR", "kind": "SAVE_NONE"}
        other = {"outcome": "ERROR", "kind": "LEAF_INPLACE"}
        cells = [cell(tp=tp) for tp in (1, 2, 4, 8)] + [cell(acc=1), cell(acc=2)]
        old = [row(**error), row(), row(**error), row(), row(), row(**error)]
        new = [row(), row(**error), row(**other), row(loss="7"), row(), row()]
        comparison = compare_versions(cells, old, new)
        self.assertEqual([(change.headline("b"), len(change.cells)) for change in comparison.changes],
                         [("fixed in b: ERROR SAVE_NONE", 2), ("broken since b: ERROR SAVE_NONE", 1),
                          ("fails differently since b: ERROR SAVE_NONE -> ERROR LEAF_INPLACE", 1)])
        self.assertEqual((comparison.moved, comparison.same), (1, 1))

    def test_in_common_names_what_tells_these_cells_from_the_others(self):
        failing = row(outcome="CRASH", kind="SIGSEGV")
        cells = [cell(path="overlap", acc=1), cell(path="overlap", acc=2), cell(acc=1)]
        change = compare_versions(cells, [row()] * 3, [failing, failing, row()]).changes[0]
        self.assertEqual(change.in_common(cells), {"path": "overlap"})


if __name__ == "__main__":
    unittest.main()
