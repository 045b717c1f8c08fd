// The backward pass.
#pragma once

#include <vector>

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

// Accumulates gradients from the roots into the leaves they came from (rule 4). grads[i] has roots[i]'s
// shape; an undefined one means ones. A node runs once, after every node that leads to it from a root has
// run; nodes that became ready run first in, first out, accumulation nodes before all others, as in the
// framework's queue (under rule 28 the newest first): the order decides which of two errors is met first. A root that
// stops gradients is no error and does nothing (under rule 26: NO_GRAD_FN), nor is a leaf that no operator has used. Reads only a root's node, so a released
// root is fine where its gradient is given. alias: a leaf's first gradient may be grads[i] itself or any
// buffer of the pass. Errors: SubjectError of the nodes.
void backward(Context& context, const std::vector<Tensor>& roots, const std::vector<Tensor>& grads);

}  // namespace culprit
