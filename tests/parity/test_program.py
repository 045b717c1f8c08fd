"""The program as a user runs it, with stand-ins for the engine and the framework: exit statuses and what is printed."""
import os
import subprocess
import sys
import tempfile
import unittest

from parity_support import TOOL

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINE = os.path.join(HERE, "stand_in_culprit.py")
FRAMEWORK = os.path.join(HERE, "stand_in_worker.py")


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "log")
        self.cells = os.path.join(self.folder, "cells.csv")
        with open(self.cells, "w", encoding="utf-8") as file:
            file.write("tp,fan_out\n2,1\n1,1\n4,3\n8,1\n")

    def run_tool(self, *flags, **environment):
        command = [sys.executable, TOOL, "--culprit", ENGINE, "--python", f"paddle@3.3.1={FRAMEWORK}", "--jobs", "2", *flags]
        return subprocess.run(command, env=os.environ | environment | {"PARITY_LOG": self.log}, capture_output=True,
                              text=True, timeout=120, check=False)

    def runs(self):
        """Which cells the framework ran, by tp, in any order."""
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            return sorted(file.read().splitlines())

    def test_agreement_is_status_0(self):
        done = self.run_tool("--cells", self.cells)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("agreement: 4 of 4 cells (100.00%)", done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.runs(), ["1 kept", "2 kept", "4 kept", "8 kept"])

    def test_a_difference_is_status_1_and_named(self):
        out = os.path.join(self.folder, "differ.csv")
        done = self.run_tool("--cells", self.cells, "--out", out, PARITY_DIFFERS="4")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("agreement: 3 of 4 cells", done.stdout)
        self.assertIn("--tp=4 --fan-out=3\n         loss: 0.5, expected 0.7", done.stdout)
        self.assertIn("4 fresh", self.runs())
        with open(out, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 2)

    def test_a_result_that_fresh_processes_do_not_repeat_does_not_count(self):
        done = self.run_tool("--cells", self.cells, PARITY_UNSTEADY="4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("unsteady", done.stdout)

    def test_a_worker_that_dies_costs_its_cell_only(self):
        done = self.run_tool("--cells", self.cells, PARITY_DIES="4")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("agreement: 3 of 4 cells", done.stdout)
        self.assertIn("the stand-in dies", done.stdout)
        self.assertEqual(self.runs(), ["1 kept", "2 kept", "8 kept"])

    def test_a_record_is_gone_on_with(self):
        record = os.path.join(self.folder, "record.csv")
        self.run_tool("--cells", self.cells, "--record", record, PARITY_DIES="4")
        os.remove(self.log)
        done = self.run_tool("--cells", self.cells, "--record", record)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.runs(), ["4 kept"])
        self.assertIn("3 cells were taken from the record", done.stdout)

    def test_a_sample_runs(self):
        done = self.run_tool("--sample", "30", "--seed", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("agreement: 30 of 30 cells", done.stdout)

    def test_releases_are_compared(self):
        done = self.run_tool("--versions", "paddle@2.6.2", "paddle@3.3.1", "--engine", "--cells", self.cells)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("fixed in paddle@3.3.1: ERROR SAVE_NONE: 1 cells\n    in common: tp=4 fan_out=3", done.stdout)
        back = self.run_tool("--versions", "paddle@3.3.1", "paddle@2.6.2", "--engine", "--cells", self.cells)
        self.assertIn("broken since paddle@2.6.2: ERROR SAVE_NONE: 1 cells", back.stdout)
        self.assertEqual(self.runs(), [])

    def test_usage_is_status_2(self):
        for flags, words in ((("--framework", "paddle@9"), "known: paddle@3.3.1, paddle@2.6.2, torch@2.15.0"),
                             (("--cells", self.cells + ".not"), "can't be read"),
                             (("--sample", "0"), "expected a whole number above 0"),
                             (("--sample", "5", "--cells", self.cells), "not allowed with"),
                             (("--versions", "paddle@2.6.2", "paddle@2.6.2", "--engine"), "two different releases"),
                             (("--engine",), "--engine goes with --versions"),
                             (("--python", "python3"), "unknown framework 'python3'"),
                             (("--sampel", "3"), "--sampel"),
                             (("--scenario", "skip_identity_qlroa"), "did you mean skip_identity_qlora?"),
                             (("--scenario", "skip_identity_qlora", "--cells", self.cells), "cell 2: skip_identity_qlora needs tp 2"),
                             (("--scenario", "skip_identity_qlora", "--framework", "paddle@2.6.2"), "3.3.1 only"),
                             (("--scenario", "skip_identity_qlora", "--framework", "torch@2.15.0"), "3.3.1 only"),
                             (("--fixes", "--framework", "torch@2.15.0"), "--fixes patches PaddlePaddle"),
                             (("--fixes", "--record", "x.csv"), "does not go with"),
                             (("--fixes", "--versions", "paddle@2.6.2", "paddle@3.3.1"), "does not go with")):
            with self.subTest(flags):
                done = self.run_tool(*flags)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_what_is_missing_is_status_3(self):
        wrong = self.run_tool("--cells", self.cells, PARITY_VERSION="paddle@3.0.0")
        self.assertEqual(wrong.returncode, 3)
        self.assertIn("has paddle@3.0.0, asked for was paddle@3.3.1", wrong.stderr)
        none = self.run_tool("--cells", self.cells, "--python", "paddle@3.3.1=/no/such/python")
        self.assertEqual(none.returncode, 3)
        self.assertIn("/no/such/python can't be started", none.stderr)
        engine = self.run_tool("--cells", self.cells, "--culprit", "/no/such/culprit")
        self.assertEqual(engine.returncode, 3)
        self.assertIn("/no/such/culprit can't be run", engine.stderr)


if __name__ == "__main__":
    unittest.main()
