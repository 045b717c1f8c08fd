"""The hub and its ranks, with a stand-in for the framework. Needs numpy, hence the framework's environment
(tests/run_paddle.sh)."""
import os
import signal
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tools", "parity"))

import numpy as np  # noqa: E402

from cells import with_defaults  # noqa: E402
from framework import hub as hub_module, rank_pool, values  # noqa: E402
from framework.channel import PeerLost  # noqa: E402
from framework.hub import Hub  # noqa: E402
from framework import qlora_model, stack_model  # noqa: E402


def right_report(cell, stage, tp):
    """What a rank without any bug gives."""
    loss, grads = stack_model.reference(cell)
    blocks_a_stage = cell["blocks"] // cell["pp"]
    mine = {}
    for parameter in stack_model.parameters(cell):
        if parameter.block // blocks_a_stage == stage:
            mine[parameter.name] = parameter.part(grads[parameter.name], tp, cell["tp"]).astype(np.float32)
    return {"loss": loss if stage == cell["pp"] - 1 else 0.0, "freed": 0, "grads": mine}


def catching(body):
    """A rank whose body may lose a peer, as the framework's rank has it."""
    def run_rank(cell, stage, tp, channel):
        try:
            return body(cell, stage, tp, channel) or right_report(cell, stage, tp)
        except PeerLost:
            return {"error": {"class": "ERROR", "kind": "PEER_LOST", "phase": channel.phase, "message": "", "own": False}}

    return run_rank


def own_error(channel):
    return {"error": {"class": "ERROR", "kind": "SOME_KIND", "phase": channel.phase, "message": "words", "own": True}}


class HubTest(unittest.TestCase):
    def setUp(self):
        self.cell = with_defaults({"tp": 2, "pp": 2, "acc": 1})

    def run_cell(self, body, cell=None):
        return Hub(stack_model, catching(body)).run(cell or self.cell)

    def test_right_numbers_pass(self):
        for given in ({"tp": 2, "pp": 2}, {"tp": 4, "pp": 1, "tail": "gather"}, {"tp": 1, "pp": 4, "residual": 1},
                      {"tp": 3, "pp": 2, "hidden": 12, "fan_out": 2, "embed": 0}):
            with self.subTest(given):
                self.assertEqual(self.run_cell(lambda *_: None, with_defaults(given))["outcome"], "PASS")

    def test_wrong_and_missing_numbers_are_judged(self):
        def change(which, value):
            def body(cell, stage, tp, channel):
                report = right_report(cell, stage, tp)
                if (stage, tp) == (0, 1):
                    report["grads"][which] = value(report["grads"][which])
                return report
            return self.run_cell(body)

        wrong = change("row0", lambda grad: 2 * grad)
        self.assertEqual((wrong["outcome"], wrong["where"], wrong["worst"]), ("WRONG_GRAD", "row0@stage0.tp1", "1"))
        missing = change("embed", lambda grad: None)
        self.assertEqual((missing["outcome"], missing["where"]), ("MISSING_GRAD", "embed@stage0.tp1"))
        nothing = change("col0.0", lambda grad: grad * np.float32("nan"))
        self.assertEqual((nothing["outcome"], nothing["where"]), ("WRONG_GRAD", "col0.0@stage0.tp1"))

    def test_wrong_loss_comes_first(self):
        def body(cell, stage, tp, channel):
            return right_report(cell, stage, tp) | {"loss": 1.0, "grads": {"embed": None}}

        self.assertEqual(self.run_cell(body)["outcome"], "WRONG_LOSS")

    def test_gradients_that_tie_are_all_named(self):
        def body(cell, stage, tp, channel):
            report = right_report(cell, stage, tp)
            if stage == 0:
                report["grads"]["row0"] = 2 * report["grads"]["row0"]
            return report

        self.assertEqual(self.run_cell(body)["ties"].split(), ["row0@stage0.tp0", "row0@stage0.tp1"])

    def test_rounding_is_that_of_the_cell(self):
        small = self.run_cell(lambda *_: None, with_defaults({"tp": 1, "pp": 1}))
        deep = self.run_cell(lambda *_: None, with_defaults({"tp": 1, "pp": 1, "blocks": 12, "fan_out": 4, "residual": 1}))
        self.assertLess(float(small["rounding"]), 1e-6)
        self.assertGreater(float(deep["rounding"]), float(small["rounding"]))

    def test_collectives_and_transfers_carry(self):
        def body(cell, stage, tp, channel):
            one = np.full((2, 2), tp + 1, np.float32)
            assert (channel.all_reduce(one) == 3).all()
            assert channel.all_gather(one).tolist() == [[1, 1, 2, 2]] * 2
            if stage == 0:
                channel.send(1, one)
                channel.send(1, None)
            else:
                assert (channel.receive(0) == tp + 1).all()
                assert channel.receive(0) is None

        self.assertEqual(self.run_cell(body)["outcome"], "PASS")

    def test_who_only_loses_a_peer_is_not_to_blame(self):
        def body(cell, stage, tp, channel):
            channel.enter("forward 0")
            if stage == 0:
                return own_error(channel)
            channel.receive(0)

        result = self.run_cell(body)
        self.assertEqual((result["outcome"], result["kind"], result["detail"]), ("ERROR", "SOME_KIND", "words"))
        self.assertEqual(result["where"], "stage0.tp0:forward 0;stage0.tp1:forward 0")

    def test_one_rank_of_a_group_that_fails_leaves_the_others_lost(self):
        def body(cell, stage, tp, channel):
            channel.enter("backward 0")
            if (stage, tp) == (1, 0):
                return own_error(channel)
            channel.all_reduce(np.ones((1, 1), np.float32))

        self.assertEqual(self.run_cell(body)["where"], "stage1.tp0:backward 0")

    def test_what_was_sent_before_a_failure_still_arrives(self):
        def body(cell, stage, tp, channel):
            if stage == 0:
                channel.send(1, np.ones((1, 1), np.float32))
                return own_error(channel)
            channel.receive(0)
            channel.enter("forward 1")
            return own_error(channel)

        self.assertIn("stage1.tp0:forward 1", self.run_cell(body)["where"])

    def test_a_rank_that_dies_is_a_crash_at_its_place(self):
        def body(cell, stage, tp, channel):
            channel.enter("backward 3")
            if (stage, tp) == (0, 1):
                os.kill(os.getpid(), signal.SIGSEGV)
            channel.all_reduce(np.ones((1, 1), np.float32))

        result = self.run_cell(body)
        self.assertEqual((result["outcome"], result["kind"], result["where"]),
                         ("CRASH", "SIGSEGV", "stage0.tp1:backward 3"))

    def test_ranks_that_wait_for_each_other_hang(self):
        def body(cell, stage, tp, channel):
            channel.enter("forward 0")
            if stage == 0 and tp == 0:
                channel.all_gather(np.ones((1, 1), np.float32))
            channel.all_reduce(np.ones((1, 1), np.float32))

        result = self.run_cell(body)
        self.assertEqual((result["outcome"], result["kind"]), ("HANG", "HANG"))
        self.assertEqual(result["where"], "stage0.tp0:forward 0;stage0.tp1:forward 0")
        self.assertIn("all_gather", result["detail"])
        self.assertNotIn("no word", result["detail"])  # found, not waited for

    def test_a_rank_that_is_silent_meets_the_deadline(self):
        def body(cell, stage, tp, channel):
            if (stage, tp) == (1, 1):
                time.sleep(600)

        before = hub_module.SILENCE_SECONDS
        self.addCleanup(setattr, hub_module, "SILENCE_SECONDS", before)
        hub_module.SILENCE_SECONDS = 1.0
        result = self.run_cell(body)
        self.assertEqual((result["outcome"], result["where"]), ("HANG", "stage1.tp1:start"))

    def test_ranks_are_kept_and_fresh_ones_are_fresh(self):
        ran = set()

        def body(cell, stage, tp, channel):
            ran.add(cell["acc"])  # in the rank's own memory
            channel.enter(f"forward {len(ran)}")
            return own_error(channel)

        hub = Hub(stack_model, catching(body))
        cells = [with_defaults({"tp": 1, "pp": 1, "acc": acc}) for acc in (1, 2)]
        self.assertEqual([hub.run(cell)["where"] for cell in cells],
                         ["stage0.tp0:forward 1", "stage0.tp0:forward 2"])
        self.assertEqual(hub.run(cells[0], fresh=True)["where"], "stage0.tp0:forward 1")

    def test_ranks_that_ran_many_cells_are_replaced(self):
        self.addCleanup(setattr, rank_pool, "CELLS_A_RANK", rank_pool.CELLS_A_RANK)
        rank_pool.CELLS_A_RANK = 2
        ran = []

        def body(cell, stage, tp, channel):
            ran.append(cell)
            channel.enter(f"forward {len(ran)}")
            return own_error(channel)

        hub = Hub(stack_model, catching(body))
        self.assertEqual([hub.run(with_defaults({"tp": 1, "pp": 1}))["where"][-1] for _ in range(5)],
                         ["1", "2", "1", "2", "1"])


class ReferenceTest(unittest.TestCase):
    """Gradients that were written by hand, against differences of the loss beside them."""

    def check(self, model, cell):
        original = values.make_values
        self.addCleanup(setattr, values, "make_values", original)
        self.addCleanup(setattr, model, "make_values", original)
        _, grads = model.reference(cell)
        self.assertEqual({name for name in grads}, {p.name for p in model.parameters(cell) if p.trainable})
        for parameter in model.parameters(cell):
            if not parameter.trainable:
                continue
            element = (0, parameter.shape[1] - 1)
            losses = []
            for step in (1e-3, -1e-3):
                def shifted(kind, number, term, shape, parameter=parameter, element=element, step=step):
                    found = original(kind, number, term, shape).astype(np.float64)
                    if (kind, number, term) == (parameter.kind, parameter.block, parameter.term):
                        found[element] += step
                    return found

                values.make_values = model.make_values = shifted
                model._reference.cache_clear()
                losses.append(model.reference(cell)[0])
            values.make_values = model.make_values = original
            model._reference.cache_clear()
            self.assertAlmostEqual((losses[0] - losses[1]) / 2e-3, grads[parameter.name][element], places=5)

    def test_stack(self):
        self.check(stack_model, with_defaults({"acc": 2, "fan_out": 2, "residual": 1, "hidden": 4, "tokens": 2}))
        self.check(stack_model, with_defaults({"acc": 1, "tail": "gather", "embed": 0, "hidden": 4, "tokens": 3}))

    def test_qlora(self):
        self.check(qlora_model, with_defaults({"acc": 2, "hidden": 8, "tokens": 2}))
        self.check(qlora_model, with_defaults({"acc": 1, "embed": 0, "hidden": 4, "tokens": 3}))


if __name__ == "__main__":
    unittest.main()
