#include "report/isolation_console.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.hpp"
#include "report/isolation_wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

class Printer {
 public:
  Printer(const IsolationRecord& record, const Style& style, int columns)
      : record_(record), style_(style), columns_(std::max(40, columns)) {}

  std::string print() {
    head();
    for (std::size_t c = 0; c < record_.result.details.size(); ++c) combination(c);
    verdict_without_combination();
    findings();
    fixes();
    coverage();
    for (const std::string& notice : all_notices(record_))
      line(0, Tone::kUnknown, "note: " + notice);
    return std::move(text_);
  }

 private:
  // One line, escaped and cut, coloured as a whole.
  void line(int indent, std::optional<Tone> tone, const std::string& raw) {
    const std::string shown = cut_to_width(escape_controls(raw), columns_ - indent);
    text_ += std::string(static_cast<std::size_t>(indent), ' ') +
             (tone ? style_.paint(*tone, shown) : shown) + "\n";
  }

  void head() {
    text_ += fmt::format("{}   {}   {} trials", style_.paint(Tone::kStrong, kVersionText),
                         search_in_words(record_), record_.result.trials);
    if (record_.resumed_trials > 0)
      text_ += fmt::format("; the journal held {} before", record_.resumed_trials);
    text_ += fmt::format(" in {:.1f} s\n", record_.wall_seconds);
    if (const std::string why = stop_in_words(record_); !why.empty())
      line(0, Tone::kUnknown, fmt::format("INCOMPLETE: {}; what was found until then:", why));
    text_ += "\n";
  }

  void combination(std::size_t c) {
    const Combination& combination = record_.result.search.combinations[c];
    const bool silent = is_silent(combination.fingerprint);
    const std::string word = verdict_word(combination);
    const std::string label = combination_label(record_.target.space(), combination.settings);
    text_ += style_.paint(silent ? Tone::kSilent : Tone::kFail, fmt::format("{:<6}", word)) +
             "   " +
             style_.paint(Tone::kStrong, cut_to_width(escape_controls(label), columns_ - 9)) + "\n";
    line(9, std::nullopt, combination.fingerprint);
    const std::string& note = record_.result.details[c].note;
    // Without the program's words it only says the exit status, which the fingerprint does too.
    if (note.find(": ") != std::string::npos) line(9, Tone::kDim, note);
    if (combination.flaky)
      line(9, Tone::kUnknown, "comes and goes: fails in " + rate_in_words(combination.rate));
    line(9, Tone::kDim, certificate_in_words(combination));
    const std::string sizes = sizes_in_words(record_, c);
    const std::string needs = needs_in_words(record_, c);
    if (!needs.empty() || !sizes.empty())
      line(9, Tone::kDim,
           needs + (needs.empty() || sizes.empty() ? "" : "; ") +
               (sizes.empty() ? "" : "smallest: " + sizes));
    // Not cut: it is there to be pasted.
    text_ += fmt::format("         {} {}\n", style_.paint(Tone::kDim, "repeat:"),
                         escape_controls(repeat_line(record_, c)));
  }

  void verdict_without_combination() {
    if (!record_.result.details.empty()) return;
    const bool passed = !record_.has_failure() && record_.is_complete();
    line(0, passed ? Tone::kPass : Tone::kUnknown, nothing_found_in_words(record_));
  }

  void findings() {
    const std::vector<std::string> others = other_findings(record_);
    if (others.empty()) return;
    text_ += "\n" + style_.paint(Tone::kStrong, "also seen") + "\n";
    for (const std::string& other : others) line(2, Tone::kUnknown, other);
  }

  void fix(const FixAttribution& attribution, int width) {
    const std::string name = escape_controls(fixes_label(record_, attribution));
    const std::string cost = cost_in_words(record_, attribution);
    const bool good = attribution.verdict == FixVerdict::kResolves;
    const bool bad = attribution.verdict == FixVerdict::kBreaksSomething ||
                     attribution.verdict == FixVerdict::kTurnsErrorSilent;
    const int gap = std::max(0, width - display_width(name));
    std::string verdict = verdict_in_words(record_, attribution);
    if (!cost.empty()) verdict += "; costs " + cost;
    text_ += "  " + name + std::string(static_cast<std::size_t>(gap) + 2, ' ') +
             style_.paint(good  ? Tone::kPass
                          : bad ? Tone::kFail
                                : Tone::kDim,
                          cut_to_width(escape_controls(verdict), columns_ - width - 4)) +
             "\n";
  }

  void fixes() {
    if (!record_.result.fixes) return;
    const FixResult& result = record_.result.fixes->result;
    text_ += "\n" + style_.paint(Tone::kStrong, "fixes") + "\n";
    int width = 0;
    for (const auto* list : {&result.alone, &result.pairs})
      for (const FixAttribution& each : *list)
        width = std::max(width, display_width(escape_controls(fixes_label(record_, each))));
    for (const auto* list : {&result.alone, &result.pairs})
      for (const FixAttribution& each : *list) fix(each, width);
    for (const std::size_t cell : result.unresolved_cells)
      line(2, Tone::kUnknown,
           (result.complete ? "no fix resolves " : "no fix tried resolves ") +
               cell_label(record_, record_.result.fixes->cells[cell]));
  }

  void coverage() {
    const std::vector<std::string> lines = coverage_in_words(record_.result.search);
    if (lines.empty()) return;
    text_ += "\n" + style_.paint(Tone::kStrong, "covered value combinations") + "\n";
    for (const std::string& each : lines) line(2, Tone::kDim, each);
  }

  const IsolationRecord& record_;
  const Style& style_;
  int columns_;
  std::string text_;
};

}  // namespace

std::string isolation_console(const IsolationRecord& record, const Style& style, int columns) {
  return Printer(record, style, columns).print();
}

}  // namespace culprit
