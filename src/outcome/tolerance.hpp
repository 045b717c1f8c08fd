// From where on a number counts as wrong.
#pragma once

#include "config/cell.hpp"

namespace culprit {

struct Tolerance {
  double loss = 0.0;  // |loss - reference| against this x max(1, |reference|)
  double grad = 0.0;  // largest |grad - reference| / max |reference| of the shard
};

// float32: the recorded facts' bounds. float16 and bfloat16: unit round-off x the length of the
// sums, the textbook bound, but not below those: a gradient has gone through every product's sum on
// the way from the data to the loss and back (in float32, whatever the type) and is rounded to the
// cell's type at every store on that way. Both are counted from the cell's sizes;
// docs/semantics.md, "Bounds", has the formula.
Tolerance tolerance_for(const Cell& cell);

}  // namespace culprit
