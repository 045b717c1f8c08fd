// Activation recomputation: a block whose inner values are not kept but computed a second time during
// the backward pass.
#pragma once

#include <functional>
#include <vector>

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

enum class RecomputeKind { kNone, kReentrant, kNonReentrant };

// A block: tensors in, one tensor out. Runs once more than it is called, so it must not have effects.
using Block = std::function<Tensor(const std::vector<Tensor>&)>;

// Runs `block` on `inputs` under the given kind of recomputation.
// Reentrant (rule 14): one custom function; its forward runs the block without gradients and saves the
// inputs, its backward runs it again on detached inputs. Parameters the block captured get no gradient
// unless an input needs one. Errors: at backward, whatever the second run raises; NO_GRAD_NEEDED when
// the second run's output stops gradients.
// Non-reentrant (rule 15): the block runs once with gradients on the caller's own objects; what its
// operators save is dropped and supplied by a second run at the first unpacking. Errors: at backward
// REPLAY_MISMATCH when the second run saves less than the first; at once HOOKS_TAKEN inside a non-reentrant
// block (measured on 2.6.2 and 3.3.1: the framework keeps one pair of saved-tensor hooks). Under rule 30 blocks nest, the
// inputs are checked (INPLACE_VERSION) and the second run ends early.
// alias: the block's result (reentrant: with its own history).
Tensor recompute(Context& context, RecomputeKind kind, const Block& block, const std::vector<Tensor>& inputs);

}  // namespace culprit
