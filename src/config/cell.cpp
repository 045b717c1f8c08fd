#include "config/cell.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "autograd/rules.hpp"
#include "base/error.hpp"

namespace culprit {
namespace {

using Group = Field::Group;
using Form = Field::Form;

// The words for an enumeration, in the order of its enumerators.
template <class Enum>
struct Words;
template <>
struct Words<RecomputeKind> {
  static inline const std::vector<std::string> list{"none", "reentrant", "nonreentrant"};
};
template <>
struct Words<IdentityVariant> {
  static inline const std::vector<std::string> list{"copy",    "skip",    "view",
                                                    "detach",  "reshape", "mark_not_inplace",
                                                    "mark_dirty", "mark_non_differentiable"};
};
template <>
struct Words<ColumnPath> {
  static inline const std::vector<std::string> list{"identity", "overlap"};
};
template <>
struct Words<FirstOp> {
  static inline const std::vector<std::string> list{"none", "scale"};
};
template <>
struct Words<Tail> {
  static inline const std::vector<std::string> list{"gather", "row"};
};
template <>
struct Words<DType> {
  static inline const std::vector<std::string> list{"float32", "float16", "bfloat16"};
};
template <>
struct Words<LossDivision> {
  static inline const std::vector<std::string> list{"immediate", "delayed"};
};

[[noreturn]] void refuse(std::string_view what, std::string_view got, std::string_view expected) {
  throw UsageError(fmt::format("{}: got '{}', expected {}", what, got, expected));
}

template <class Enum>
Enum parse_word(std::string_view what, std::string_view text) {
  const auto& words = Words<Enum>::list;
  const auto place = std::find(words.begin(), words.end(), text);
  if (place == words.end()) refuse(what, text, fmt::format("one of {}", fmt::join(words, ", ")));
  return static_cast<Enum>(place - words.begin());
}

bool parse_switch(std::string_view what, std::string_view text) {
  if (text == "0" || text == "1") return text == "1";
  refuse(what, text, "0 or 1");
}

template <auto Member>
Field number(std::string name, Group group, std::string help) {
  Field row;
  row.name = std::move(name);
  row.group = group;
  row.form = Form::kNumber;
  row.help = std::move(help);
  row.get = [](const Cell& cell) { return std::to_string(cell.*Member); };
  return row;
}

constexpr int kMostRanks = 64;
constexpr int kLargest = 1 << 20;

template <auto Member, class Enum>
Field choice(std::string name, std::string help) {
  Field row;
  row.name = std::move(name);
  row.form = Form::kChoice;
  row.values = Words<Enum>::list;
  row.help = std::move(help);
  row.get = [](const Cell& cell) {
    return Words<Enum>::list[static_cast<std::size_t>(cell.*Member)];
  };
  return row;
}

template <auto Member>
Field on_off(std::string name, std::string help) {
  Field row;
  row.name = std::move(name);
  row.form = Form::kSwitch;
  row.values = {"0", "1"};
  row.help = std::move(help);
  row.get = [](const Cell& cell) { return std::string(cell.*Member ? "1" : "0"); };
  return row;
}

Field with_set(Field row, std::function<void(Cell&, std::string_view)> set) {
  row.set = std::move(set);
  return row;
}

// One row a size or toggle; those of the recorded file stand first, in its order.
std::vector<Field> make_fields() {
  using V = std::string_view;
  return {
      with_set(number<&Cell::tp>("tp", Group::kSize, "tensor-parallel ranks; must divide hidden"),
               [](Cell& c, V v) { c.tp = parse_int("tp", v, 1, kMostRanks); }),
      with_set(number<&Cell::pp>("pp", Group::kSize, "pipeline stages; must divide blocks"),
               [](Cell& c, V v) { c.pp = parse_int("pp", v, 1, kMostRanks); }),
      with_set(
          number<&Cell::acc>("acc", Group::kSize, "micro-batches whose gradients are accumulated"),
          [](Cell& c, V v) { c.acc = parse_int("acc", v, 1, 4096); }),
      with_set(choice<&Cell::recompute, RecomputeKind>(
                   "recompute", "activation recomputation of each block (bare: reentrant)"),
               [](Cell& c, V v) { c.recompute = parse_word<RecomputeKind>("recompute", v); }),
      with_set(choice<&Cell::identity, IdentityVariant>(
                   "identity", "what the identity before a column linear returns"),
               [](Cell& c, V v) { c.identity = parse_word<IdentityVariant>("identity", v); }),
      with_set(
          choice<&Cell::path, ColumnPath>(
              "path", "column linear: identity operator + matmul, or one overlapping function"),
          [](Cell& c, V v) { c.path = parse_word<ColumnPath>("path", v); }),
      with_set(choice<&Cell::first_op, FirstOp>(
                   "first_op", "an operator between a block's input and its column linear"),
               [](Cell& c, V v) { c.first_op = parse_word<FirstOp>("first_op", v); }),
      with_set(number<&Cell::fan_out>("fan_out", Group::kToggle, "column linears on one input"),
               [](Cell& c, V v) { c.fan_out = parse_int("fan_out", v, 1, kMostRanks); }),
      with_set(
          choice<&Cell::tail, Tail>("tail", "after the column linears: all-gather or row linear"),
          [](Cell& c, V v) { c.tail = parse_word<Tail>("tail", v); }),
      with_set(on_off<&Cell::residual>("residual", "add the block's input to its output"),
               [](Cell& c, V v) { c.residual = parse_switch("residual", v); }),
      with_set(
          on_off<&Cell::embed>("embed", "a trainable replicated matmul before the first block"),
          [](Cell& c, V v) { c.embed = parse_switch("embed", v); }),
      with_set(on_off<&Cell::release>("release", "stages release the outputs they sent"),
               [](Cell& c, V v) { c.release = parse_switch("release", v); }),
      with_set(number<&Cell::blocks>("blocks", Group::kSize,
                                     "blocks in all, spread over the stages (default max(2, pp))"),
               [](Cell& c, V v) { c.blocks = parse_int("blocks", v, 1, 4096); }),
      with_set(number<&Cell::hidden>("hidden", Group::kSize, "features"),
               [](Cell& c, V v) { c.hidden = parse_int("hidden", v, 1, kLargest); }),
      with_set(number<&Cell::tokens>("tokens", Group::kSize, "tokens a micro-batch"),
               [](Cell& c, V v) { c.tokens = parse_int("tokens", v, 1, kLargest); }),
      with_set(
          [] {
            Field row;
            row.name = "loss_scale";
            row.form = Form::kNumber;
            row.help = "factor on the loss, taken out of the gradients at the end of the step";
            row.get = [](const Cell& c) { return fmt::format("{}", c.loss_scale); };
            return row;
          }(),
          [](Cell& c, V v) {
            double value = 0;
            const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), value);
            // The gradients are float32: a factor must leave room on both sides of 1.
            if (error != std::errc{} || end != v.data() + v.size() || !(value >= 1e-18) ||
                !(value <= 1e18))
              refuse("loss_scale", v, "a number from 1e-18 to 1e18");
            c.loss_scale = value;
          }),
      with_set(
          choice<&Cell::loss_division, LossDivision>(
              "loss_division",
              "divide the loss by the micro-batches at once, or the gradients at the end"),
          [](Cell& c, V v) { c.loss_division = parse_word<LossDivision>("loss_division", v); }),
      with_set(
          [] {
            Field row;
            row.name = "framework";
            row.values = known_frameworks();
            std::string names;
            for (const NamedRule& rule : named_rules()) names += (names.empty() ? "" : ", ") + rule.name;
            row.help = "whose rules the engine follows; with +RULE one of PyTorch's in their place: " + names;
            row.get = [](const Cell& c) { return c.framework; };
            return row;
          }(),
          [](Cell& c, V v) { c.framework = rules_of(v).name; }),
      with_set(
          choice<&Cell::dtype, DType>("dtype", "type of all tensors; sums accumulate in float32"),
          [](Cell& c, V v) { c.dtype = parse_word<DType>("dtype", v); }),
  };
}

}  // namespace

namespace {
std::string flag_for(const std::string& name) {
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}
}  // namespace

std::string Field::flag() const { return flag_for(name); }

const std::vector<Field>& fields() {
  static const std::vector<Field> rows = make_fields();
  return rows;
}

const Field& field(std::string_view name) {
  for (const auto& row : fields())
    if (row.name == name) return row;
  throw UsageError(fmt::format("unknown size or toggle '{}'", name));
}

Field own_toggle(std::string name, std::vector<std::string> values, std::string help) {
  Field row;
  row.name = name;
  row.form = Form::kChoice;
  row.values = values;
  row.help = std::move(help);
  row.get = [name, values](const Cell& cell) {
    const std::string value = own_value(cell, name);
    return value.empty() ? values.front() : value;
  };
  row.set = [name, values](Cell& cell, std::string_view value) {
    if (std::find(values.begin(), values.end(), value) == values.end())
      refuse(name, value, fmt::format("one of {}", fmt::join(values, ", ")));
    cell.extra[name] = value;
  };
  return row;
}

std::string own_value(const Cell& cell, const std::string& name) {
  const auto place = cell.extra.find(name);
  return place == cell.extra.end() ? "" : place->second;
}

std::string why_impossible(const Cell& c) {
  if (c.hidden % c.tp != 0)
    return fmt::format("tp {} can't split {} features evenly; choose a tp that divides hidden",
                       c.tp, c.hidden);
  if (c.blocks % c.pp != 0)
    return fmt::format("pp {} can't spread {} blocks evenly; choose blocks as a multiple of pp",
                       c.pp, c.blocks);
  if (c.tp == 1 && (c.identity != IdentityVariant::kCopy || c.path != ColumnPath::kIdentity))
    return "at tp 1 a column linear is a plain matmul: identity must be copy and path identity";
  if (c.path == ColumnPath::kOverlap && c.identity != IdentityVariant::kCopy &&
      c.identity != IdentityVariant::kSkip)
    return fmt::format("the overlap path knows identity copy and skip only, got {}",
                       field("identity").get(c));
  const bool marks = c.identity == IdentityVariant::kMarkDirty || c.identity == IdentityVariant::kMarkNonDifferentiable;
  if (marks && !rules_of(c.framework).has_output_marks)
    return fmt::format("{} has no {}: an input that a custom function returns is always in-place there; choose {}",
                       c.framework, field("identity").get(c), kComparedFramework);
  if (c.pp == 1 && c.release) return "release needs pp above 1: a single stage sends nothing";
  return "";
}

void validate(const Cell& cell) {
  if (const std::string reason = why_impossible(cell); !reason.empty()) throw UsageError(reason);
}

int default_blocks(int pp) { return std::max(2, pp); }

std::vector<std::string> to_flags(const Cell& cell) {
  static const Cell defaults;
  std::vector<std::string> flags;
  for (const auto& row : fields()) {
    const std::string value = row.get(cell);
    const bool is_default =
        row.name == "blocks" ? cell.blocks == default_blocks(cell.pp) : value == row.get(defaults);
    if (is_default) continue;
    if (row.form == Form::kSwitch)
      flags.push_back((value == "1" ? "--" : "--no-") + row.flag().substr(2));
    else
      flags.push_back(row.flag() + "=" + value);
  }
  for (const auto& [name, value] : cell.extra) flags.push_back(flag_for(name) + "=" + value);
  return flags;
}

int parse_int(std::string_view what, std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    refuse(what, text, fmt::format("a whole number from {} to {}", low, high));
  return value;
}

}  // namespace culprit
