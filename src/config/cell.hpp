// Configuration: one cell of the scenario matrix, that is all sizes and toggles of one run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/linear_layers.hpp"
#include "pipeline/stage.hpp"
#include "recompute/recompute.hpp"

namespace culprit {

enum class FirstOp { kNone, kScale };
enum class Tail { kGather, kRow };

// Plain data; immutable once validated. The defaults are the harness's documented ones.
struct Cell {
  // sizes
  int tp = 2;      // tensor-parallel ranks
  int pp = 2;      // pipeline stages
  int acc = 4;     // micro-batches accumulated in one step
  int blocks = 2;  // in all, spread evenly over the stages
  int hidden = 8;  // features
  int tokens = 3;  // tokens a micro-batch
  // toggles
  RecomputeKind recompute = RecomputeKind::kNone;
  IdentityVariant identity = IdentityVariant::kCopy;
  ColumnPath path = ColumnPath::kIdentity;
  FirstOp first_op = FirstOp::kNone;  // an operator between a block's input and its column linear
  int fan_out = 1;                    // column linears on one input
  Tail tail = Tail::kRow;
  bool residual = false;
  bool embed = true;
  bool release = false;  // stage 0..pp-2 release the outputs they sent
  double loss_scale = 1.0;
  LossDivision loss_division = LossDivision::kImmediate;
  std::string framework = "paddle@3.3.1";
  DType dtype = DType::kFloat32;  // of every tensor: it changes numbers, unlike the device that
                                  // works them out
  // A scenario's own toggles, by name.
  std::map<std::string, std::string> extra;
};

// One row of the table of sizes and toggles. Flags, CSV columns, help, reports and tests come from
// it.
struct Field {
  enum class Group { kSize, kToggle };
  enum class Form { kNumber, kChoice, kSwitch };
  std::string
      name;  // as in a CSV header (each row may be a column); the flag is the same with '-' for '_'
  Group group = Group::kToggle;
  Form form = Form::kChoice;
  std::vector<std::string> values;  // kChoice: what it takes; the first is off
  std::string help;
  std::function<std::string(const Cell&)> get;
  // Errors: UsageError with the value, what was expected.
  std::function<void(Cell&, std::string_view value)> set;

  std::string flag() const;
};

const std::vector<Field>& fields();
// Errors: UsageError with the name.
const Field& field(std::string_view name);
// A scenario's own toggle: a field that lives in Cell::extra. The first value is off.
Field own_toggle(std::string name, std::vector<std::string> values, std::string help);
// The value of an own toggle; empty when it was never set.
std::string own_value(const Cell& cell, const std::string& name);

// Why this combination can't be run, in words; empty if it can.
std::string why_impossible(const Cell& cell);
// Errors: UsageError with why_impossible's reason.
void validate(const Cell& cell);

// What `blocks` is when nobody says: max(2, pp).
int default_blocks(int pp);

// The flags that make this cell, those at their default left out.
std::vector<std::string> to_flags(const Cell& cell);

// Whole decimal number in [low, high]. Errors: UsageError naming `what`, the text and the range.
int parse_int(std::string_view what, std::string_view text, int low, int high);

}  // namespace culprit
