"""Random cells: runnable, repeatable, over the whole space, and enough of every class."""
import random
import unittest
from collections import Counter

from parity_support import RECORDED, cell as parity_cell

from cells import AXES, CHOICE, IDENTITIES, SWITCH, identities_of, key, why_impossible, why_not_on
from results import read_cells
from sample import TOP_UP_SHARE, draw, stratified
from scenarios import SCENARIOS
from sweep import sweep

LEAF = SCENARIOS["skip_identity_leaf"]


def classify(cells):
    """A class for one cell in about 200, another for one in 8, the rest alike."""
    def class_of(cell):
        if cell["tokens"] == 9 and cell["tp"] == 8:
            return "rare", ""
        return ("ERROR", "SOME_KIND") if cell["fan_out"] == 3 and cell["residual"] else ("PASS", "")

    return [class_of(cell) for cell in cells]


class DrawTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rng = random.Random(11)
        cls.cells = [draw(rng) for _ in range(5000)]

    def test_every_cell_can_be_run(self):
        for cell in self.cells:
            self.assertEqual(why_impossible(cell), "")
            self.assertEqual(set(cell), {axis.name for axis in AXES})

    def test_every_value_occurs(self):
        for axis in AXES:
            values = {cell[axis.name] for cell in self.cells}
            if axis.form == CHOICE:
                self.assertEqual(values, set(IDENTITIES if axis.name == "identity" else axis.values))
            if axis.form == SWITCH:
                self.assertEqual(values, {0, 1})
        for name in ("tp", "pp"):
            self.assertEqual({cell[name] for cell in self.cells}, set(range(1, 9)))
        self.assertEqual({cell["fan_out"] for cell in self.cells}, {1, 2, 3, 4})

    def test_marks_that_only_pytorch_knows_are_drawn_for_it_alone(self):
        identities = identities_of("torch@2.15.0")
        self.assertEqual(identities_of("paddle@3.3.1"), IDENTITIES)
        rng = random.Random(11)
        drawn = [draw(rng, identities) for _ in range(2000)]
        self.assertEqual({cell["identity"] for cell in drawn}, set(identities))
        marked = next(cell for cell in drawn if cell["identity"] == "mark_dirty")
        self.assertEqual(why_not_on("torch@2.15.0", marked), "")
        self.assertIn("paddle@3.3.1 has no mark_dirty", why_not_on("paddle@3.3.1", marked))
        rng = random.Random(11)
        self.assertEqual([draw(rng) for _ in range(20)], self.cells[:20])

    def test_what_no_stored_file_holds_occurs(self):
        def some(condition):
            return sum(map(condition, self.cells)) > 50

        self.assertTrue(some(lambda c: c["acc"] == 3))
        self.assertTrue(some(lambda c: c["acc"] < c["pp"]))
        self.assertTrue(some(lambda c: c["blocks"] == 2 * c["pp"]))
        self.assertTrue(some(lambda c: c["tokens"] % 2 and c["tokens"] > 3))
        self.assertTrue(some(lambda c: c["tp"] > 4 and c["pp"] > 2))
        self.assertTrue(some(lambda c: c["tp"] == 1 and c["pp"] == 1))


class SweepTest(unittest.TestCase):
    def test_it_holds_every_recorded_cell_once(self):
        cells = {key(cell) for cell in sweep()}
        self.assertEqual((len(sweep()), len(cells)), (7776, 7776))
        self.assertTrue({key(cell) for cell in read_cells(RECORDED)} < cells)


class StratifiedTest(unittest.TestCase):
    def test_rare_classes_are_topped_up(self):
        count = 400
        cells = stratified(LEAF, count, 5, classify)
        self.assertEqual(len(cells), count)
        self.assertEqual(len({key(cell) for cell in cells}), count)
        counts = Counter(classify(cells))
        self.assertEqual(set(counts), {("rare", ""), ("ERROR", "SOME_KIND"), ("PASS", "")})
        self.assertGreaterEqual(min(counts.values()), TOP_UP_SHARE * count)

    def test_a_seed_gives_the_same_sample(self):
        self.assertEqual(stratified(LEAF, 50, 1, classify), stratified(LEAF, 50, 1, classify))
        self.assertNotEqual(stratified(LEAF, 50, 1, classify), stratified(LEAF, 50, 2, classify))

    def test_a_class_that_hardly_occurs_does_not_stop_it(self):
        met = []

        def once(cells):
            its_classes = ["common"] * len(cells)
            if not met:
                its_classes[0] = "once"
                met.append(cells[0])
            return its_classes

        cells = stratified(LEAF, 40, 1, once)
        self.assertEqual(len(cells), 40)
        self.assertIn(key(met[0]), {key(cell) for cell in cells})

    def test_a_scenario_gets_cells_of_its_own_axes_only(self):
        qlora = SCENARIOS["skip_identity_qlora"]
        for cell in stratified(qlora, 100, 1, classify):
            self.assertEqual(qlora.why_impossible(cell), "")
            self.assertGreaterEqual(cell["tp"], 2)
            self.assertEqual((cell["fan_out"], cell["residual"], cell["path"]), (1, 0, "identity"))
        self.assertIn("has no fan_out; leave it at 1", qlora.why_impossible(parity_cell(fan_out=2)))


if __name__ == "__main__":
    unittest.main()
