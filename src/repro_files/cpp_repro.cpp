// repro.cpp and repro_test.cpp: the failing cell on a small engine with just the rules that matter.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/subject_error.hpp"
#include "repro_files/cpp_pieces.hpp"
#include "repro_files/program_text.hpp"
#include "repro_files/repro_plan.hpp"

namespace culprit {
namespace {

// The line that models the rule at fault, and what a fix would make of it.
struct RuleLine {
  std::string today;
  std::string fixed;
  std::string words;

  std::string marked() const { return fmt::format("{}  // RULE: {}", today, words); }
  std::string marked_fix() const { return fmt::format("{}  // RULE: {}", fixed, words); }
};

RuleLine identity_rule(const Traits& is) {
  const std::string fixed = "return view(x);";
  if (is.has("skip"))
    return {"return x;", fixed, "the identity returns its input; a fix: " + fixed};
  if (is.has("reshape"))
    return {"return x;", fixed, "to its own shape, reshape gives its input; a fix: " + fixed};
  if (is.has("detach"))
    return {"return handle(x->impl);", fixed, "a handle on the input's impl; a fix: " + fixed};
  if (is.has("mark"))
    return {"return x;", fixed, "the input, marked as not in-place; a fix: " + fixed};
  return {};
}

RuleLine frozen_rule() {
  return {"if (saved_x->stop_gradient) return std::vector<Tensor>(2);",
          "if (x->stop_gradient) return std::vector<Tensor>(2);",
          "asks what was saved; a fix: asks x"};
}

RuleLine rule_at_fault(const ReproPlan& plan, const ProgramText& program) {
  const Traits& is = plan.traits;
  if (is.has("none_refused"))
    return {
        "if (replay) throw Failure(\"SAVE_NONE\", \"save_for_backward only support Tensor, list of "
        "Tensor, tuple of Tensor\");",
        "", "hooks refuse a none; a fix: no such line"};
  if (is.has("stopped_rule"))
    return {"return std::vector{dx, dw};",
            "return std::vector{x->stop_gradient ? nullptr : dx, dw};",
            "dx whatever x needs; a fix: x->stop_gradient ? nullptr : dx"};
  if (is.has("frozen_linear") && (is.has("copy") || is.has("view"))) return frozen_rule();
  if (is.has("freed"))
    return {"backward(y, dy, /*retain_graph=*/false);", "backward(y, dy, /*retain_graph=*/true);",
            "frees what the block captured; a fix: true"};
  if (is.has("release") && !program.capturing_line.empty())
    return {program.capturing_line, program.capturing_line_of_a_view,
            "captures the handle that is sent and released; a fix: a view of it"};
  return identity_rule(is);
}

// Why the small engine can't raise this kind here; empty if it can, or no error was seen.
std::string why_no_rule(const ReproPlan& plan) {
  static const std::map<std::string_view, std::string_view> rules{
      {kind::kLeafInplace, "leaf_rule"},
      {kind::kInplaceVersion, "versions"},
      {kind::kGradForStoppedInput, "stopped_rule"},
      {kind::kNoInputGrad, "drops"},
      {kind::kSaveNone, "none_refused"},
      {kind::kUseAfterRelease, "release"},
      {kind::kGraphFreed, "freed"}};
  if (!plan.traits.has("error")) return "";
  const std::string& seen = plan.values.at("KIND");
  const auto rule = rules.find(seen);
  if (rule != rules.end() && plan.traits.has(rule->second)) return "";
  return fmt::format("the rule behind {} is not written for a cell like this", seen);
}

std::string includes(const Traits& is, bool test) {
  std::string text = test ? "#include <gtest/gtest.h>\n\n" : "";
  for (const auto& [name, wanted] : {std::pair{"algorithm", true},
                                     {"barrier", is.has("tp")},
                                     {"cmath", is.has("reference")},
                                     {"condition_variable", is.has("pp")},
                                     {"deque", true},
                                     {"functional", true},
                                     {"iostream", !test},
                                     {"map", true},
                                     {"memory", true},
                                     {"mutex", is.has("pp")},
                                     {"set", true},
                                     {"stdexcept", is.has("error")},
                                     {"string", true},
                                     {"thread", is.has("ranks")},
                                     {"utility", true},
                                     {"vector", true}})
    if (wanted) text += fmt::format("#include <{}>\n", name);
  return text;
}

// The text up to main or the test.
std::string engine_text(const ReproPlan& plan, const ProgramText& program, const RuleLine& rule) {
  const Traits& is = plan.traits;
  TextValues values = plan.values;
  const auto has = [&](const char* trait) { return is.has(trait); };
  const auto text_if = [&](const char* trait, const char* text) {
    return has(trait) ? std::string(text) : "";
  };
  values["SAVES_PARAMETER"] = text_if("freed", ", bool saves = false");
  values["SAVES"] = text_if("freed", ", true");
  values["SAVES_IN_APPLY"] = text_if("freed", ", saves");
  values["APPLY_EXTRA"] =
      text_if("mark", ", bool is_marked = false") + text_if("freed", ", bool saves = false");
  values["RETAIN_PARAMETER"] = text_if("freed", ", bool retain_graph = false");
  values["NO_RETAIN"] = "";
  values["IF_THERE"] = text_if("gives_none", "; to && dx");
  values["VERSION_NOTE"] =
      text_if("versions", ": its impl, and the version that it must still have");
  values["SAVERS"] =
      has("overlap") || has("frozen_linear") ? "an operator keeps" : "a matmul keeps";
  values["ROOTS"] = has("wide") ? "const Tensors& roots, const Tensors& seeds"
                                : "const Tensor& y, const Tensor& dy";
  values["MARK_STOPS"] = has("mark_stops") ? "true" : "false";
  values["IN_PLACE"] = has("mark") ? "is_in_place && !is_marked" : "is_in_place";
  values["CPP_STAGE"] = has("tp") ? "me / " + values.at("TP") : "me";
  values["CPP_STRIDE"] = has("tp") ? values.at("TP") : "1";
  values["M_ARGUMENT"] = text_if("many", ", m");
  values["CPP_M"] = text_if("many", ", int m");
  values["CPP_M_ONLY"] = text_if("many", "int m");
  values["PLUS_M"] = text_if("many", " + 31 * m");
  values["BOUNDARY"] = has("wide") ? "Tensors" : "Tensor";
  values["WIDTH"] = has("wide") ? std::to_string(plan.program.stages[1].inputs.size()) : "";
  values["ONLY_IN_A_GROUP"] = text_if("reference", " && self->tp > 1");
  values["WEIGHTS_OF"] = text_if("pp", "int stage");
  const std::string whole = has("gain") ? "whole" : "fixed(p.number, p.rows * p.cols)";
  values["CPP_VALUE"] =
      has("split") ? "shard(p, " + whole + ")" : "tensor(p.rows, p.cols, " + whole + ")";
  values["CPP_STOP_GRADIENT"] = has("frozen") ? "!p.is_trainable" : "false";
  std::string factors;
  if (has("many") && !has("delayed")) factors += " / " + values.at("MICRO_BATCHES");
  if (has("scaled_loss")) factors += " * " + values.at("LOSS_SCALE");
  values["LOSS_FACTORS"] = factors;
  values["LOSS_WORDS"] = has("many") && !has("delayed") ? ", divided by the micro-batches" : "";
  values["RANK_NUMBER"] = has("ranks") ? "rank.me" : "0";
  values["NONE_RULE"] = rule.marked();
  values["OVERLAP_RULE"] =
      has("stopped_rule") && !has("none_refused") ? rule.marked() : "return std::vector{dx, dw};";
  values["FROZEN_RULE"] = rule.today == frozen_rule().today ? rule.marked() : frozen_rule().today;
  values["INNER_BACKWARD"] = has("freed")  ? rule.marked()
                             : has("wide") ? "backward({y}, {dy});"
                                           : "backward(y, dy);";
  values["IDENTITY_RULE"] = has("copy")   ? "return copy(x);"
                            : has("view") ? "return view(x);"
                                          : identity_rule(is).marked();

  std::string text;
  const auto piece = [&](bool wanted, const char* block) {
    if (wanted) text += render(block, is, values);
  };
  piece(true, cpp_pieces::kTensors);
  piece(has("versions") || has("nonreentrant"), cpp_pieces::kSaving);
  piece(true, cpp_pieces::kOperators);
  piece(true, cpp_pieces::kBackward);
  piece(has("custom"), cpp_pieces::kCustomFunction);
  piece(has("recompute"), cpp_pieces::kRecompute);
  piece(true, cpp_pieces::kRanks);
  piece(has("tp"), cpp_pieces::kRegions);
  text += "\nTensor weight(const std::string& name) { return self->weights.at(name); }\n";
  if (program.blocks.find(", b)") != std::string::npos)  // of a block by its number
    text +=
        "Tensor weight(std::string name, int b) { return weight(name.replace(name.find('#'), 1, "
        "std::to_string(b))); }\n";
  std::string model = program.blocks + program.forward;
  if (const auto at =
          program.capturing_line.empty() ? std::string::npos : model.find(program.capturing_line);
      at != std::string::npos && rule.today == program.capturing_line)
    model.replace(at, rule.today.size(), rule.marked());
  text += "\n" + model;
  piece(true, cpp_pieces::kStep);
  piece(true, cpp_pieces::kRun);
  return text;
}

std::string head(const ReproPlan& plan, const std::string& command, const std::string& status) {
  const auto& values = plan.values;
  std::string text = comment("//", values.at("SEEN")) + "\n";
  text += comment("//", fmt::format("{}: {} ({})", values.at("LABEL"), values.at("TITLE"),
                                    values.at("UPSTREAM"))) +
          "\n";
  text += "//   " + command + "\n" + comment("//", status) + "\n";
  if (!values.at("MECHANISM").empty()) text += comment("//", values.at("MECHANISM")) + "\n";
  const std::string ranks =
      values.at("LAYOUT").empty() ? "" : values.at("LAYOUT") + " are threads. ";
  return text +
         comment("//", ranks + "A small engine with just the rules of PaddlePaddle " +
                           values.at("VERSION") + " that this takes; no dependencies.") +
         "\n";
}

}  // namespace

ReproResult cpp_repro(const ReproPlan& plan) {
  if (const std::string reason = why_no_rule(plan); !reason.empty())
    return ReproRefusal{"repro.cpp", reason};
  const ProgramText program = program_text(plan, Language::kCpp);
  const std::string outcome_class = plan.outcome_words.substr(0, plan.outcome_words.find(' '));
  std::string text =
      head(plan, "g++ -std=c++20 -pthread repro.cpp -o repro && ./repro; echo $?",
           fmt::format("Exit status {} and {} today, 0 once it's fixed{}.", plan.exit_status,
                       plan.outcome_words,
                       plan.traits.has("error") ? "; gradients are not compared here" : ""));
  text += includes(plan.traits, /*test=*/false) +
          engine_text(plan, program, rule_at_fault(plan, program));
  text += fmt::format(
      "\nint main() {{\n  const std::string outcome = run();\n  std::cout << outcome << \"\\n\";\n"
      "  return outcome.starts_with(\"{}\") ? {} : 0;\n}}\n",
      outcome_class, plan.exit_status);
  return ReproFile{.name = "repro.cpp",
                   .text = text,
                   .exit_status = plan.exit_status,
                   .shows = plan.outcome_words};
}

ReproResult cpp_test(const ReproPlan& plan) {
  if (const std::string reason = why_no_rule(plan); !reason.empty())
    return ReproRefusal{"repro_test.cpp", reason};
  const ProgramText program = program_text(plan, Language::kCpp);
  const RuleLine rule = rule_at_fault(plan, program);
  if (rule.today.empty())
    return ReproRefusal{
        "repro_test.cpp",
        "no single line of the model is the rule at fault: this needs no switch but "
        "recomputation"};
  std::string text = head(plan,
                          "g++ -std=c++20 -pthread repro_test.cpp -lgtest -lgtest_main -o "
                          "repro_test && ./repro_test",
                          fmt::format("Green while the outcome is {}. The line marked RULE models "
                                      "the rule at fault; changed as a fix would, the test "
                                      "turns red.",
                                      plan.outcome_words));
  text += includes(plan.traits, /*test=*/true) + engine_text(plan, program, rule);
  text +=
      fmt::format("\nTEST(Repro, ShowsTodaysOutcome) {{ EXPECT_EQ(run().substr(0, {}), {}); }}\n",
                  plan.outcome_words.size(), source_string(plan.outcome_words));
  return ReproFile{.name = "repro_test.cpp",
                   .text = text,
                   .exit_status = 0,
                   .shows = "[  PASSED  ]",
                   .rule_line = rule.marked(),
                   .fixed_line = rule.marked_fix()};
}

}  // namespace culprit
