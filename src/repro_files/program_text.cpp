#include "repro_files/program_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "repro_files/program_names.hpp"

namespace culprit {
namespace {

class Writer {
 public:
  Writer(const ReproPlan& plan, Language language)
      : plan_(plan), python_(language == Language::kPython), tp_(plan.traits.has("tp")) {
    for (const auto& spec : plan.parameters) block_of_[spec.name] = spec.block;
    find_functions();
  }

  ProgramText write() {
    ProgramText text;
    for (const Function& function : functions_) text.blocks += function_text(function);
    text.forward = forward_text();
    text.capturing_line = capturing_line_;
    text.capturing_line_of_a_view = capturing_line_of_a_view_;
    return text;
  }

 private:
  // Blocks of one text are one function, which takes the block's number where they are several.
  struct Function {
    std::string name;
    std::vector<std::size_t> blocks;
    bool takes_number() const { return blocks.size() > 1; }
  };

  int number_of(const Routine& block) const {
    for (const auto& call : block.calls)
      for (const auto& input : call.inputs)
        if (!input.parameter.empty()) return block_of_.at(input.parameter);
    return 0;
  }
  std::vector<int> captures_of(const Routine& block) const {
    std::set<int> own;
    for (const auto& input : block.inputs) own.insert(input.id);
    for (const auto& call : block.calls) own.insert(call.output.id);
    std::vector<int> captured;
    for (const auto& call : block.calls)
      for (const auto& input : call.inputs)
        if (input.id >= 0 && own.count(input.id) == 0 &&
            std::find(captured.begin(), captured.end(), input.id) == captured.end())
          captured.push_back(input.id);
    return captured;
  }

  void find_functions() {
    std::map<std::string, std::size_t> by_text;
    for (std::size_t i = 0; i < plan_.program.blocks.size(); ++i) {
      const Routine& block = plan_.program.blocks[i];
      const auto [entry, is_new] =
          by_text.try_emplace(block_body(block, /*by_number=*/true), functions_.size());
      if (is_new) functions_.push_back({});
      functions_[entry->second].blocks.push_back(i);
      function_of_.push_back(entry->second);
    }
    for (std::size_t f = 0; f < functions_.size(); ++f)
      functions_[f].name = functions_.size() == 1 ? "block" : fmt::format("block_{}", f);
  }

  std::string weight(const std::string& name, int block, bool by_number) const {
    const std::string pattern = by_number ? name_pattern(name, block) : name;
    if (pattern == name)
      return python_ ? fmt::format("w[{}]", source_string(name)) : fmt::format("weight({})", source_string(name));
    if (!python_) return fmt::format("weight({}, b)", source_string(pattern));
    std::string text;  // of an f-string: braces are doubled
    for (const char c : source_string(pattern))
      text += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
    text.replace(text.find('#'), 1, "{b}");
    return fmt::format("w[f{}]", text);
  }

  // Expressions of values that have no name, by id.
  using Inlined = std::map<int, std::string>;

  std::string operand(const ProgramValue& value, const Names& names, const Inlined& inlined,
                      int block, bool by_number) const {
    if (!value.parameter.empty()) return weight(value.parameter, block, by_number);
    const auto place = inlined.find(value.id);
    return place == inlined.end() ? names.of(value.id) : place->second;
  }

  std::string matmul(const std::string& a, const std::string& b) const {
    return python_ ? fmt::format("{} @ {}", a, b) : fmt::format("matmul({}, {})", a, b);
  }
  // A function of the group: not there where no group is.
  std::string region(const std::string& name, const std::string& x) const {
    if (!tp_) return x;
    if (!python_) return fmt::format("{}({})", name, x);
    if (plan_.traits.has("reference")) return fmt::format("{}({}, group)", name, x);
    const auto form = name == "identity"        ? "APPLY_IDENTITY"
                      : name == "all_reduce"    ? "APPLY_ALL_REDUCE"
                      : name == "gather"        ? "APPLY_GATHER"
                      : name == "frozen_linear" ? "APPLY_FROZEN"
                                                : "APPLY_OVERLAP";
    return fmt::format(fmt::runtime(plan_.values.at(form)), x);
  }

  std::string expression(const OperatorCall& call, const std::vector<std::string>& in) const {
    switch (call.op) {
      case ModelOperator::kMatmul:
        return matmul(in[0], in[1]);
      case ModelOperator::kAdd:
        return python_ ? fmt::format("{} + {}", in[0], in[1])
                       : fmt::format("add({}, {})", in[0], in[1]);
      case ModelOperator::kScale:
        return fmt::format("{}scale({}, {})", python_ ? "paddle." : "", in[0],
                           decimal(call.factor));
      case ModelOperator::kIdentity:
        return region("identity", in[0]);
      case ModelOperator::kColumnLinear:
        if (!plan_.traits.has("overlap")) return matmul(region("identity", in[0]), in[1]);
        return region("overlap_linear", in[0] + ", " + in[1]);
      case ModelOperator::kRowLinear:
        return region("all_reduce", matmul(in[0], in[1]));
      case ModelOperator::kGather:
        return region("gather", in[0]);
      case ModelOperator::kFrozenColumnLinear:
        if (!plan_.traits.has("frozen_linear")) return matmul(region("identity", in[0]), in[1]);
        return region("frozen_linear", region("identity", in[0]) + ", " + in[1]);
      case ModelOperator::kOverlapLinear:  // refused before (repro_plan.cpp)
      case ModelOperator::kRecompute:
        break;
    }
    return "";
  }

  std::string assignment(const std::string& name, const std::string& value, bool declared) const {
    return python_ ? fmt::format("{} = {}\n", name, value)
                   : fmt::format("{}{} = {};\n", declared ? "" : "Tensor ", name, value);
  }
  std::string returned(const std::string& value) const {
    return python_ ? fmt::format("return {}\n", value) : fmt::format("return {};\n", value);
  }

  // Python writes call i of a routine into call i + 1 where that is its only user. C++ leaves the
  // order in which a function's arguments are evaluated open, and here it matters. True when it was
  // kept in `inlined`.
  bool inline_into_next(const Routine& routine, std::size_t i, const std::string& value,
                        Inlined& inlined) const {
    const auto is_plain = [](ModelOperator op) {
      return op == ModelOperator::kMatmul || op == ModelOperator::kAdd ||
             op == ModelOperator::kScale || op == ModelOperator::kIdentity;
    };
    if (!python_ || i + 1 >= routine.calls.size() || !is_plain(routine.calls[i].op)) return false;
    if (!is_plain(routine.calls[i + 1].op) && routine.calls[i + 1].op != ModelOperator::kGather)
      return false;
    const int id = routine.calls[i].output.id;
    std::size_t uses = 0, uses_next = 0;
    for (std::size_t j = i + 1; j < routine.calls.size(); ++j)
      for (const auto& input : routine.calls[j].inputs) {
        uses += input.id == id ? 1 : 0;
        uses_next += j == i + 1 && input.id == id ? 1 : 0;
      }
    for (const auto& output : routine.outputs) uses += output.id == id ? 1 : 0;
    if (uses != 1 || uses_next != 1) return false;
    const bool in_parentheses = routine.calls[i].op == ModelOperator::kAdd &&
                                routine.calls[i + 1].op == ModelOperator::kMatmul;
    inlined[id] = in_parentheses ? "(" + value + ")" : value;
    return true;
  }

  std::string block_body(const Routine& block, bool by_number) const {
    Names names(block, captures_of(block));
    const int number = number_of(block);
    for (const auto& input : block.inputs)
      names.declare(names.give_fresh(input.id, 0, /*keep=*/true));
    for (const int id : captures_of(block)) names.declare(names.give_fresh(id, 0, /*keep=*/true));
    std::string text;
    Inlined inlined;
    for (std::size_t i = 0; i < block.calls.size(); ++i) {
      const OperatorCall& call = block.calls[i];
      std::vector<std::string> in;
      for (const auto& input : call.inputs)
        in.push_back(operand(input, names, inlined, number, by_number));
      const std::string value = expression(call, in);
      if (inline_into_next(block, i, value, inlined)) continue;
      if (i + 1 == block.calls.size() && call.output.id == block.outputs[0].id)
        return text + returned(value);
      bool declared = false;
      const std::string name = names.give_result(call, i + 1, declared);
      text += assignment(name, value, declared);
    }
    return text + returned(operand(block.outputs[0], names, inlined, number, by_number));
  }

  std::vector<std::string> parameter_names(const Routine& block) const {
    Names names(block, captures_of(block));
    std::vector<std::string> list;
    for (const auto& input : block.inputs)
      list.push_back(names.give_fresh(input.id, 0, /*keep=*/true));
    for (const int id : captures_of(block)) list.push_back(names.give_fresh(id, 0, /*keep=*/true));
    return list;
  }

  std::string function_text(const Function& function) const {
    const Routine& block = plan_.program.blocks[function.blocks[0]];
    const std::vector<std::string> names = parameter_names(block);
    std::vector<std::string> parameters;
    if (function.takes_number()) parameters.push_back(python_ ? "b" : "int b");
    for (const auto& name : names) parameters.push_back(python_ ? name : "const Tensor& " + name);
    if (python_) parameters.push_back("w");
    if (python_ && tp_) parameters.push_back("group");
    const std::string head =
        fmt::format(fmt::runtime(python_ ? "def {}({}):\n" : "Tensor {}({}) {{\n"), function.name,
                    fmt::join(parameters, ", "));
    return head + indent(block_body(block, function.takes_number()), 1) +
           (python_ ? "\n" : "}\n\n");
  }

  std::string indent(const std::string& text, int levels) const {
    std::string result;
    for (std::size_t start = 0; start < text.size();) {
      const auto end = text.find('\n', start);
      result += std::string(static_cast<std::size_t>(levels) * (python_ ? 4 : 2), ' ') +
                text.substr(start, end - start + 1);
      start = end + 1;
    }
    return result;
  }

  // One block, run as the cell's kind of recomputation does. `number` is empty where the function
  // takes none.
  std::string block_call(const OperatorCall& call, const Names& names, const std::string& number,
                         bool in_loop) {
    const Function& function = functions_[function_of_[call.block]];
    const std::string x = names.of(call.inputs[0].id);
    std::vector<std::string> captured;
    for (const int id : captures_of(plan_.program.blocks[call.block]))
      captured.push_back(names.of(id));
    const bool recomputed = plan_.traits.has("recompute");
    // The block's argument must not hide what it captures.
    const std::string argument =
        recomputed && (!python_ || std::find(captured.begin(), captured.end(), x) != captured.end())
            ? (python_ ? "argument" : "in")
            : x;
    std::vector<std::string> arguments;
    if (!number.empty()) arguments.push_back(number);
    arguments.push_back(argument);
    arguments.insert(arguments.end(), captured.begin(), captured.end());
    if (python_) arguments.push_back("w");
    if (python_ && tp_) arguments.push_back("group");
    const std::string plain = fmt::format("{}({})", function.name, fmt::join(arguments, ", "));
    if (!recomputed) return plain;
    if (!python_)
      return fmt::format("recompute([=](const Tensor& {}) {{ return {}; }}, {})", argument, plain,
                         x);
    const std::string lambda =
        fmt::format("lambda {}{}: {}", argument, in_loop ? ", b=b" : "", plain);
    if (plan_.traits.has("reference")) return fmt::format("recomputed({}, {}, group)", lambda, x);
    return fmt::format("recompute({}, {}, {})", lambda, x, plan_.values.at("RECOMPUTE_ARGUMENTS"));
  }

  // How many calls from `first` on are the next block on the block before's output, as a loop can
  // run them.
  std::size_t run_length(const Routine& stage, std::size_t first) const {
    std::size_t length = 1;
    for (std::size_t i = first + 1; i < stage.calls.size(); ++i, ++length) {
      const OperatorCall &before = stage.calls[i - 1], &call = stage.calls[i];
      if (call.op != ModelOperator::kRecompute ||
          function_of_[call.block] != function_of_[before.block] ||
          call.inputs[0].id != before.output.id)
        break;
      const Routine &a = plan_.program.blocks[before.block], &b = plan_.program.blocks[call.block];
      if (number_of(b) != number_of(a) + 1 || captures_of(a) != captures_of(b)) break;
    }
    return length;
  }

  std::string stage_body(const Routine& stage, bool by_stage) {
    std::vector<int> captured;
    for (const auto& call : stage.calls)
      if (call.op == ModelOperator::kRecompute)
        for (const int id : captures_of(plan_.program.blocks[call.block])) captured.push_back(id);
    Names names(stage, captured);
    std::string text;
    for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
      const std::string name = names.give_fresh(stage.inputs[i].id, 0, /*keep=*/false);
      names.declare(name);
      if (plan_.traits.has("wide"))
        text += assignment(name, fmt::format("inputs[{}]", i), /*declared=*/false);
    }
    Inlined inlined;
    const bool one_output = !plan_.traits.has("wide");
    for (std::size_t i = 0; i < stage.calls.size(); ++i) {
      const OperatorCall& call = stage.calls[i];
      bool declared = false;
      if (call.op != ModelOperator::kRecompute) {
        std::vector<std::string> in;
        for (const auto& input : call.inputs)
          in.push_back(operand(input, names, inlined, 0, /*by_number=*/false));
        const std::string value = expression(call, in);
        if (inline_into_next(stage, i, value, inlined)) continue;
        if (i + 1 == stage.calls.size() && one_output) return text + returned(value);
        const std::string name = names.give_result(call, i + 1, declared);
        text += assignment(name, value, declared);
        continue;
      }
      const Function& function = functions_[function_of_[call.block]];
      const std::size_t length = function.takes_number() ? run_length(stage, i) : 1;
      const BlockNumber number{number_of(plan_.program.blocks[call.block]), by_stage,
                               plan_.cell.blocks / plan_.cell.pp};
      if (length == 1) {
        const std::string value = block_call(
            call, names, function.takes_number() ? number.text() : "", /*in_loop=*/false);
        if (i + 1 == stage.calls.size() && one_output) return text + returned(value);
        const std::string name = names.give_result(call, i + 1, declared);
        text += assignment(name, value, declared);
        note_capturing(stage, call, names, text);
        continue;
      }
      // In the loop the block's result takes its input's name.
      const std::string value = block_call(call, names, "b", /*in_loop=*/true);
      std::string name;
      for (std::size_t j = i; j < i + length; ++j)
        name = names.give_result(stage.calls[j], j + 1, declared);
      if (python_)
        text += fmt::format("for b in range({}{}):\n    {} = {}\n",
                            number.text() == "0" ? "" : number.text() + ", ",
                            number.text(static_cast<int>(length)), name, value);
      else
        text += fmt::format("for (int b = {}; b < {}; ++b)\n  {} = {};\n", number.text(),
                            number.text(static_cast<int>(length)), name, value);
      note_capturing(stage, call, names, text);
      i += length - 1;
    }
    std::vector<std::string> outputs;
    for (const auto& output : stage.outputs) outputs.push_back(names.of(output.id));
    if (one_output) return text + returned(outputs[0]);
    return text + returned(fmt::format(fmt::runtime(python_ ? "[{}]" : "{{{}}}"),
                                       fmt::join(outputs, ", ")));
  }

  // `text` ends with the statement of `call`. Remembers the first that captures what the stage
  // sends.
  void note_capturing(const Routine& stage, const OperatorCall& call, const Names& names,
                      const std::string& text) {
    if (python_ || !capturing_line_.empty() || !plan_.traits.has("recompute")) return;
    for (const int id : captures_of(plan_.program.blocks[call.block])) {
      const bool is_sent =
          std::any_of(stage.outputs.begin(), stage.outputs.end(),
                      [id](const ProgramValue& output) { return output.id == id; });
      if (!is_sent) continue;
      const auto end = text.size() - 1;
      std::string line = text.substr(text.rfind('\n', end - 1) + 1);
      line =
          line.substr(line.find_first_not_of(' '), line.find('\n') - line.find_first_not_of(' '));
      capturing_line_ = line;
      const std::string& name = names.of(id);
      line.replace(line.find("[=]"), 3, fmt::format("[=, {} = view({})]", name, name));
      capturing_line_of_a_view_ = line;
      return;
    }
  }

  std::string forward_text() {
    const auto& stages = plan_.program.stages;
    const bool several = stages.size() > 1, wide = plan_.traits.has("wide");
    std::string head;
    if (python_) {
      head = fmt::format("def forward({}{}, w{}):\n", several ? "stage, " : "",
                         wide ? "inputs" : "x", tp_ ? ", group" : "");
    } else {
      const std::string type = wide ? "Tensors" : "Tensor";
      head = fmt::format("{} forward({}{} {}) {{\n", type, several ? "int stage, " : "",
                         wide ? "const Tensors&" : type, wide ? "inputs" : "x");
    }
    std::string text;
    if (!several) {
      text = stage_body(stages[0], /*by_stage=*/false);
    } else {
      // Further stages that differ only in their blocks' numbers are one text.
      std::vector<std::string> later;
      for (std::size_t s = 1; s < stages.size(); ++s)
        later.push_back(stage_body(stages[s], stages.size() > 2));
      const bool alike =
          std::all_of(later.begin(), later.end(), [&](const auto& t) { return t == later[0]; });
      text = branch(0) + indent(stage_body(stages[0], /*by_stage=*/false), 1) + close_branch();
      for (std::size_t s = 1; !alike && s + 1 < stages.size(); ++s)
        text += branch(s) + indent(stage_body(stages[s], /*by_stage=*/false), 1) + close_branch();
      text += alike ? later[0] : stage_body(stages.back(), /*by_stage=*/false);
    }
    return head + indent(text, 1) + (python_ ? "" : "}\n");
  }
  std::string branch(std::size_t stage) const {
    return python_ ? fmt::format("if stage == {}:\n", stage)
                   : fmt::format("if (stage == {}) {{\n", stage);
  }
  std::string close_branch() const { return python_ ? "" : "}\n"; }

  const ReproPlan& plan_;
  bool python_;
  bool tp_;
  std::map<std::string, int> block_of_;
  std::vector<Function> functions_;
  std::vector<std::size_t> function_of_;  // by block
  std::string capturing_line_, capturing_line_of_a_view_;
};

}  // namespace

ProgramText program_text(const ReproPlan& plan, Language language) {
  return Writer(plan, language).write();
}

}  // namespace culprit
