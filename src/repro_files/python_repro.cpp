// repro.py: the failing cell on the stock framework.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/subject_error.hpp"
#include "repro_files/program_text.hpp"
#include "repro_files/python_pieces.hpp"
#include "repro_files/repro_plan.hpp"

namespace culprit {
namespace {

// How the framework's CPU build words an error, measured on 2.6.2 and 3.3.1; empty: it doesn't
// raise one but dies of a segmentation fault.
struct Wording {
  std::string_view kind;
  std::string_view phrase;
};
constexpr std::array kWordings{
    Wording{kind::kLeafInplace, "can't use inplace strategy"},
    Wording{kind::kInplaceVersion, "wrapper_version_snapshot"},
    Wording{kind::kGradForStoppedInput, "should return None at 0 position"},
    Wording{kind::kNoInputGrad, "NoneType"},
    Wording{kind::kSaveNone, "save_for_backward only support"},
    Wording{kind::kGraphFreed, "calculate backward twice for the same subgraph"},
    Wording{kind::kUseAfterRelease, ""},
};

std::string without_last_line_feed(std::string text) {
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

ReproResult python_repro(const ReproPlan& plan) {
  Traits is = plan.traits;
  TextValues values = plan.values;
  const auto has = [&](const char* trait) { return is.has(trait); };
  const std::string& kind_of_error = values.at("KIND");
  std::string phrase;
  bool crashes = false;
  if (has("error")) {
    const auto wording = std::find_if(kWordings.begin(), kWordings.end(),
                                      [&](const Wording& w) { return w.kind == kind_of_error; });
    if (wording == kWordings.end())
      return ReproRefusal{"repro.py",
                          fmt::format("how PaddlePaddle words {} is not known", kind_of_error)};
    phrase = wording->phrase;
    crashes = phrase.empty();
  }
  is.set("crashes", crashes);
  if (crashes && !has("ranks"))
    return ReproRefusal{"repro.py", "a crash without forked ranks is not written yet"};
  const auto text_if = [&](const char* trait, const char* text) {
    return has(trait) ? std::string(text) : "";
  };

  std::string status = fmt::format(
      "Exit status {} and a line that begins with {} today, 0 once it's fixed{}.", plan.exit_status,
      plan.outcome_words, has("error") ? "; gradients are not compared here" : "");
  if (crashes)
    status = fmt::format(
        "Where culprit's engine raises {}, PaddlePaddle's CPU build dies of SIGSEGV: exit status "
        "16 today, 0 "
        "once it's fixed; gradients are not compared here.",
        plan.outcome_words);
  values["STATUS_LINES"] = comment("#", status);
  values["LABEL_LINES"] = comment("#", fmt::format("{}: {} ({})", values.at("LABEL"),
                                                   values.at("TITLE"), values.at("UPSTREAM")));
  values["MECHANISM_LINES"] =
      values.at("MECHANISM").empty() ? "" : comment("#", values.at("MECHANISM"));
  std::string setup;
  if (has("ranks"))
    setup = values.at("LAYOUT") + " are forked processes that exchange arrays through pipes.";
  if (has("copy") || has("skip") || ((has("overlap") || has("row")) && !has("skips")))
    setup += " A copy stands in for PaddlePaddle's c_identity kernel, which has no CPU build.";
  if (has("frozen_matmul"))
    setup += " A matmul whose weight takes no gradient stands in for the quantised linear.";
  values["SETUP_LINES"] = setup.empty() ? "" : comment("#", setup);
  values["PHRASE"] = source_string(phrase);
  values["SKIP_NOTE"] = has("skip") ? "; False is the clean twin" : "";
  values["PARAMETER_COLUMNS"] = text_if("split", ", axis that tensor ranks split") +
                                text_if("gain", ", gain") + text_if("pp", ", stage") +
                                text_if("frozen", ", trainable");
  values["ROW_SPLIT"] = text_if("split", ", axis");
  values["ROW_GAIN"] = text_if("gain", ", gain");
  values["ROW_STAGE"] = text_if("pp", ", its_stage");
  values["ROW_TRAINABLE"] = text_if("frozen", ", trainable");
  values["GROUP_ARGUMENT"] = text_if("tp", ", group");
  std::string imports;
  for (const auto& [name, wanted] : {std::pair{"ctypes", has("tp")},
                                     {"itertools", has("ranks")},
                                     {"multiprocessing", has("ranks")},
                                     {"signal", crashes},
                                     {"sys", has("ranks")},
                                     {"time", has("ranks")}})
    if (wanted) imports += fmt::format("{}{}", imports.empty() ? "import " : ", ", name);
  values["IMPORTS"] = imports;
  const bool other_identity = has("view") || has("detach") || has("reshape") || has("mark");
  const auto call_of = [&](const char* form, const char* x) {
    std::string call = values.at(form);
    return call.replace(call.find("{}"), 2, x);
  };
  values["CALL_IDENTITY"] = call_of("APPLY_IDENTITY", "x");
  values["CALL_OVERLAP"] = call_of("APPLY_OVERLAP", "x, weight");
  values["CALL_ALL_REDUCE"] = call_of("APPLY_ALL_REDUCE", "x");
  values["CALL_FROZEN"] = call_of("APPLY_FROZEN", "x, weight");
  values["CALL_GATHER"] = call_of("APPLY_GATHER", "x");
  values["CONSTANTS"] =
      has("tp") && has("pp")
          ? fmt::format("TP, PP = {}, {}  # tensor-parallel ranks, pipeline stages",
                        values.at("TP"), values.at("PP"))
      : has("tp") ? fmt::format("TP = {}  # tensor-parallel ranks", values.at("TP"))
      : has("pp") ? fmt::format("PP = {}  # pipeline stages", values.at("PP"))
                  : "";
  values["M_ARGUMENT"] = text_if("many", ", m");
  values["PLUS_M"] = text_if("many", " + 31 * m");
  std::string value = "numbers(k, shape)";
  if (has("gain")) value += " * np.float32(gain)";
  values["VALUE"] = has("split") ? "shard(" + value + ", axis, group)" : value;
  values["STOP_GRADIENT"] = has("frozen") ? "not trainable" : "False";
  values["REFERENCE"] = has("pp") ? "reference()" : "train(None)";
  values["PARAMETERS_OF"] = has("pp") ? "stage" + text_if("tp", ", group") : text_if("tp", "group");
  values["OF_STAGE"] = !has("pp")         ? ""
                       : has("reference") ? " if stage in (None, its_stage)"
                                          : " if stage == its_stage";
  values["TRAIN_OF"] = text_if("tp", "group");
  values["BATCH"] = "batch(" + values.at("DATA") + values.at("M_ARGUMENT") + ")";
  std::string loss = fmt::format("(({} - batch({}{})) ** 2).mean()",
                                 has("wide") && !has("reference") ? "y[0]" : "y",
                                 values.at("TARGET"), values.at("M_ARGUMENT"));
  if (has("many") && !has("delayed")) loss += " / " + values.at("MICRO_BATCHES");
  if (has("scaled_loss")) loss += " * " + values.at("LOSS_SCALE");
  values["LOSS"] = loss;
  values["STAGE"] = has("tp") ? "rank // TP" : "rank";
  values["STRIDE"] = has("tp") ? "TP" : "1";
  values["FORWARD"] = without_last_line_feed(render(python_pieces::kForward, is, values));
  values["BACKWARD"] = without_last_line_feed(render(python_pieces::kBackward, is, values));
  values["AND_TRAINABLE"] = text_if("frozen", " and not p.stop_gradient");
  const std::string group = has("reference") ? "group" : "Group(rank, links)";
  values["TRAIN_CALL"] = has("pp") ? "train(rank, links" + (has("tp") ? ", " + group : "") + ")"
                                   : "train(" + group + ")";
  values["WORLD_EXPRESSION"] = has("tp") && has("pp") ? "TP * PP" : has("tp") ? "TP" : "PP";

  const ProgramText program = program_text(plan, Language::kPython);
  std::string text;
  const auto piece = [&](bool wanted, const char* block) {
    if (wanted) text += render(block, is, values);
  };
  piece(true, python_pieces::kHead);
  piece(has("tp"), python_pieces::kGroup);
  piece(other_identity, python_pieces::kOtherIdentity);
  piece(has("gather"), python_pieces::kGather);
  piece(has("frozen_linear"), python_pieces::kFrozenLinear);
  piece(has("reference"), python_pieces::kWithoutGroup);
  text += "\n" + program.blocks + program.forward;
  piece(true, python_pieces::kNumbers);
  piece(!has("pp"), python_pieces::kTrain);
  piece(has("pp"), python_pieces::kTrainStage);
  piece(has("reference") && has("pp"), python_pieces::kReference);
  piece(has("ranks"), python_pieces::kRank);
  piece(!has("ranks"), python_pieces::kAlone);
  piece(has("ranks"), python_pieces::kMain);
  constexpr auto kMostLines = 100;
  const auto lines = std::count(text.begin(), text.end(), '\n');
  if (lines > kMostLines)
    return ReproRefusal{
        "repro.py",
        fmt::format("it would take {} lines; a script to read has at most {}", lines, kMostLines)};
  return ReproFile{.name = "repro.py",
                   .text = text,
                   .exit_status = crashes ? 16 : plan.exit_status,
                   .shows = crashes ? "CRASH SIGSEGV" : plan.outcome_words,
                   .framework_version = values.at("VERSION")};
}

}  // namespace culprit
