"""Candidate fixes leave the framework as they found it. Needs the framework itself."""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tools", "parity"))

import paddle  # noqa: E402

from framework import paddle_layers  # noqa: E402
from framework.paddle_patches import IDENTITY, PATCHES, patched  # noqa: E402


class _Alone:
    """A channel of a group of one."""

    def all_reduce(self, array):
        return array


class PatchesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paddle_layers.use_cpu()
        cls.group = paddle_layers.Group(0, 2, _Alone())

    def identity(self, skip=True):
        """What the identity gives for a tensor with history, and that tensor."""
        leaf = paddle.ones([2, 2])
        leaf.stop_gradient = False
        x = paddle.scale(leaf, 1.0)
        return IDENTITY.apply(x, self.group, skip), x

    def test_as_released_the_input_itself_comes_back(self):
        out, x = self.identity()
        self.assertIs(out, x)

    def test_each_is_undone(self):
        for name in PATCHES:
            with self.subTest(name):
                before = dict(IDENTITY.__dict__)
                with self.assertRaises(KeyError), patched(name):
                    raise KeyError("inside")
                self.assertEqual(dict(IDENTITY.__dict__), before)
                out, x = self.identity()
                self.assertIs(out, x)

    def test_new_handles_share_memory_and_copies_do_not(self):
        for name, shares in (("view", True), ("new_handle_in_pylayer", True), ("copy", False), ("scale_in_layer", False)):
            with self.subTest(name), patched(name):
                out, x = self.identity()
                self.assertIsNot(out, x)
                self.assertEqual(out.data_ptr() == x.data_ptr(), shares)

    def test_without_skip_the_identity_copies_with_every_patch(self):
        for name in PATCHES:
            with self.subTest(name), patched(name):
                out, x = self.identity(skip=False)
                self.assertNotEqual(out.data_ptr(), x.data_ptr())


if __name__ == "__main__":
    unittest.main()
