"""The rules of docs/semantics.md, "PyTorch's rules", each measured by itself. Needs PyTorch, so it is in no usual set:

    $(python3 tools/parity/environment.py torch@2.15.0) -m unittest discover tests/parity/torch_rules"""
import unittest
import warnings

import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint

warnings.filterwarnings("ignore")


def function(give, gradient=lambda dy: 2 * dy):
    """A custom function of one input."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return give(ctx, x)

        @staticmethod
        def backward(ctx, dy):
            return gradient(dy)

    return Made.apply


def _dirty(ctx, x):
    ctx.mark_dirty(x)
    return x


def _non_differentiable(ctx, x):
    ctx.mark_non_differentiable(x)
    return x


as_is, dirty, non_differentiable = function(lambda ctx, x: x), function(_dirty), function(_non_differentiable)
none = function(lambda ctx, x: x.clone(), lambda dy: None)


def leaf(*shape):
    return torch.ones(*shape or (2, 2), requires_grad=True)


class Linear(torch.autograd.Function):
    """Saves what it is given, and a none; gives both gradients whatever is needed."""

    needs = None

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w, None)
        return x @ w

    @staticmethod
    def backward(ctx, dy):
        x, w, _ = ctx.saved_tensors
        Linear.needs = x.requires_grad
        return dy @ w.t(), x.t() @ dy


class RulesTest(unittest.TestCase):
    def raises(self, words):
        return self.assertRaisesRegex(RuntimeError, words)

    def test_21_an_input_returned_as_is_is_a_new_handle(self):
        for x in (leaf(), leaf() * 1, torch.ones(2, 2)):
            y = as_is(x)
            self.assertIsNot(y, x)
            self.assertIs(y._base, x)
            self.assertEqual((y.data_ptr(), x._version), (x.data_ptr(), 0))
        w = leaf()
        x = w * 1
        (as_is(x) + x).sum().backward()
        self.assertEqual(w.grad.unique().item(), 3)
        with torch.no_grad():
            self.assertIsNone(as_is(leaf())._base)
        self.assertIs(x.reshape(x.shape)._base, x)

    def test_22_dirty_is_in_place(self):
        with self.raises("a leaf Variable that requires grad has been used in an in-place operation"):
            dirty(leaf())
        w = leaf()
        x = w * 1
        y = dirty(x)
        self.assertIs(y, x)
        self.assertEqual(x._version, 1)
        (y + x).sum().backward()
        self.assertEqual(w.grad.unique().item(), 4)
        data = torch.ones(2)
        self.assertIs(dirty(data), data)
        self.assertEqual(data._version, 1)

    def test_22_a_view_of_a_function_is_not_written(self):
        for view in (as_is(leaf() * 1), function(lambda ctx, x: x.view(x.shape))(leaf() * 1)):
            with self.raises("is a view and is being modified inplace"):
                dirty(view)
        view = as_is(leaf() * 1)
        with torch.no_grad():
            dirty(view)
        stale = "is a view and its base or another view of its base has been modified inplace"
        with self.raises(stale):
            view * 1
        with self.raises(stale):
            view.backward(torch.ones(2, 2))

        def write_without_a_record(x):
            with torch.no_grad():
                x.add_(1)

        for write in (dirty, write_without_a_record):
            for operator in (lambda x: x**2, lambda x: x @ leaf()):
                base = leaf() * 1
                view = as_is(base)
                y = operator(view)  # saves the view
                write(base)
                with self.raises(stale):
                    y.sum().backward()
            base = leaf() * 1
            view = as_is(base)
            y = view * 2.0
            write(base)
            y.sum().backward()
            with self.raises(stale):
                view.backward(torch.ones(2, 2))

    def test_23_a_non_differentiable_output_has_no_history(self):
        w = leaf()
        x = w * 1
        y = non_differentiable(x)
        self.assertFalse(y.requires_grad)
        (y + x).sum().backward()
        self.assertEqual(w.grad.unique().item(), 1)

    def test_24_a_gradient_too_many_is_dropped(self):
        x, w = torch.ones(2, 2), leaf()
        Linear.apply(x, w).sum().backward()
        self.assertIsNone(x.grad)
        self.assertIsNotNone(w.grad)

    def test_25_operators_pass_none_on_and_functions_get_zeros(self):
        for operator in (lambda x: x * 1.0, lambda x: x @ leaf(), lambda x: x + x, lambda x: x**2, torch.mean):
            x = leaf()
            none(operator(x)).sum().backward()
            self.assertIsNone(x.grad)
        x = leaf()
        none(function(lambda ctx, t: t.clone())(x)).sum().backward()
        self.assertEqual(x.grad.unique().item(), 0)

    def test_25_what_was_saved_is_looked_at_all_the_same(self):
        x, b = leaf() * 1, torch.ones(2, 2)
        products = {b: (leaf() * 1) @ b, x: x**2}
        for changed, y in products.items():
            with torch.no_grad():
                changed.add_(1)
            with self.raises("has been modified by an inplace operation"):
                none(y).sum().backward()
        twice = leaf() * 2.0
        none(twice).sum().backward()
        with self.raises("backward through the graph a second time"):
            none(twice).sum().backward()

    def test_26_the_root_needs_a_gradient(self):
        for grad in (torch.ones(2, 2), None):
            with self.raises("element 0 of tensors does not require grad and does not have a grad_fn"):
                torch.autograd.backward([torch.ones(2, 2)], [grad])
        with self.raises("element 1 of tensors does not require grad"):
            torch.autograd.backward([leaf() * 1, torch.ones(2, 2)], [torch.ones(2, 2)] * 2)

    def test_27_saved_values_are_checked(self):
        x, w = leaf() * 1, leaf()
        y = Linear.apply(x, w)
        x.add_(1)
        with self.raises("at version 1; expected version 0 instead"):
            y.sum().backward()
        a, b = torch.ones(2, 2), leaf()
        y = a @ b
        with torch.no_grad():
            b.add_(1)
        y.sum().backward()
        for needed in (0, 1):  # once both want a gradient, both are saved
            a, b = leaf(), leaf()
            y = a @ b
            with torch.no_grad():
                (a, b)[needed].add_(1)
            with self.raises("modified by an inplace operation"):
                y.sum().backward()
        a = torch.ones(2, 2)
        y = a @ b
        a.add_(1)
        with self.raises("modified by an inplace operation"):
            y.sum().backward()

    def test_27_a_scale_is_freed_by_its_backward(self):
        def twice(operator):
            y = operator(leaf())
            for _ in range(2):
                y.backward(torch.ones_like(y))

        for operator in (lambda x: x * 2.0, lambda x: x / 2.0, lambda x: x * 1.0, lambda x: x**2, lambda x: x @ leaf()):
            with self.raises("Trying to backward through the graph a second time"):
                twice(operator)
        for operator in (lambda x: x + x, lambda x: x - torch.ones(2, 2), lambda x: x.view(4), torch.mean, torch.clone, as_is):
            twice(operator)
        seen = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
            leaf() * 2.0
        self.assertEqual(seen, [])

    def test_28_the_sides_of_an_add_share_a_gradient(self):
        seen = []
        a, b = leaf() * 1, leaf() * 1
        for x in (a, b):
            x.register_hook(lambda dy: seen.append(dy.data_ptr()))
        (a + b).backward(torch.ones(2, 2))
        self.assertEqual(seen[0], seen[1])

    def test_28_the_newest_node_runs_first(self):
        order = []

        def tell(name):
            return function(lambda ctx, x: x.clone(), lambda dy: order.append(name) or dy)

        x = leaf()
        a = tell("a")(x)
        (a + tell("b")(x)).sum().backward()
        self.assertEqual(order, ["b", "a"])

    def test_29_a_collective_changes_no_version(self):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        try:
            x = leaf() * 1
            dist.all_reduce(x)
            self.assertEqual((x._version, x.grad_fn.name()), (0, "MulBackward0"))
        finally:
            dist.destroy_process_group()

    def test_30_a_block_that_writes_its_input_is_an_error(self):
        w = leaf()

        def block(x):
            return dirty(x) @ w + dirty(x) @ w

        with self.raises("at version 2; expected version 0 instead"):
            checkpoint(block, leaf() * 1, use_reentrant=False).sum().backward()
        checkpoint(lambda x: block(x * 1), leaf() * 1, use_reentrant=False).sum().backward()  # inner values are not checked

    def test_30_the_second_run_ends_early_and_values_keep_their_need(self):
        ends, w = [], leaf()

        def block(x):
            y = Linear.apply(x, w)
            ends.append(1)
            return y

        checkpoint(block, leaf() * 1, use_reentrant=False).sum().backward()
        self.assertEqual(len(ends), 1)
        self.assertTrue(Linear.needs)

    def test_30_blocks_nest(self):
        w = leaf()
        checkpoint(lambda x: checkpoint(lambda y: (y @ w) ** 2, x, use_reentrant=False) @ w, leaf(),
                   use_reentrant=False).sum().backward()
        self.assertIsNotNone(w.grad)

    def test_14_a_reentrant_block_of_data_is_not_recorded(self):
        self.assertFalse(checkpoint(lambda x: x @ leaf(), torch.ones(2, 2), use_reentrant=True).requires_grad)


if __name__ == "__main__":
    unittest.main()
