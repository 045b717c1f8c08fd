#include "report/isolation_markdown.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.hpp"
#include "report/isolation_wording.hpp"
#include "report/markup.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

// Room that is kept for the note about what was left out.
constexpr std::size_t kReserve = 512;
// One text from outside: a program's error line or a command may be long.
constexpr int kMostColumns = 1000;

std::string fold(const std::string& summary, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", summary, body);
}

std::string counts(const Observation& seen, bool is_flaky) {
  const char* plural = seen.runs == 1 ? "" : "s";
  if (seen.runs == seen.passes)
    return is_flaky ? fmt::format("not seen in {} run{}", seen.runs, plural) : "passes";
  std::string text = fmt::format("fails so in {} of {} run{}", seen.failures, seen.runs, plural);
  if (seen.different > 0)
    text += fmt::format(", {} with {}", seen.different, seen.other_fingerprint);
  if (seen.unresolved > 0) text += fmt::format(", {} not judged", seen.unresolved);
  return text;
}

class Page {
 public:
  explicit Page(Redactor& redactor) : redactor_(redactor) {}

  std::string write(const IsolationRecord& record) {
    // In the order of the page, each with its importance (0 first to stay).
    struct Section {
      int importance;
      std::string text;
    };
    std::vector<Section> sections{
        {0, fmt::format("## culprit isolate: {}\n\n", record.scenario
                                                          ? inert(record.scenario->title)
                                                          : inert(record.target.spec().command))},
        {1, verdict_section(record)},
        {4, findings_section(record)},
        {2, repeat_section(record)},
        {5, fixes_section(record)},
        {3, coverage_section(record)}};
    for (std::size_t c = 0; c < record.result.details.size(); ++c)
      sections.push_back({6, certificate_section(record, c)});
    sections.push_back({8, launch_section(record.launch)});
    sections.push_back({7, environment_section(record)});

    std::vector<std::size_t> order(sections.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sections[a].importance < sections[b].importance;
    });
    std::size_t bytes = kReserve;
    std::size_t left_out = 0;
    for (const std::size_t i : order) {
      if (bytes + sections[i].text.size() < kMostMarkdownBytes) {
        bytes += sections[i].text.size();
      } else {
        sections[i].text.clear();
        ++left_out;
      }
    }
    std::string text;
    for (const Section& section : sections) text += section.text;
    if (left_out > 0)
      text +=
          fmt::format("{} section{} did not fit into one comment: report.json has everything.\n",
                      left_out, left_out == 1 ? "" : "s");
    return text;
  }

 private:
  // Text from outside: private things masked, made inert, cut.
  std::string inert(const std::string& raw) {
    return markdown_text(cut_to_width(escape_controls(redactor_.text(raw)), kMostColumns));
  }
  // The same for code.
  std::string command(const std::string& raw) { return escape_controls(redactor_.text(raw)); }

  std::string verdict_section(const IsolationRecord& record) {
    std::string text;
    if (const std::string why = stop_in_words(record); !why.empty())
      text += fmt::format("**Incomplete**: {}. What was found until then:\n\n", inert(why));
    const auto& combinations = record.result.search.combinations;
    for (std::size_t c = 0; c < combinations.size(); ++c) {
      const Combination& combination = combinations[c];
      text += fmt::format("- **{}** {}: {}\n", verdict_word(combination),
                          inert(combination.settings.empty()
                                    ? std::string("whatever the switches are")
                                    : label_of(record.target.space(), combination.settings)),
                          inert(combination.fingerprint));
      if (combination.flaky)
        text += fmt::format("  - comes and goes: fails in {}\n", rate_in_words(combination.rate));
      text += fmt::format("  - {}\n", inert(certificate_in_words(combination)));
      if (const std::string sizes = sizes_in_words(record, c); !sizes.empty())
        text += fmt::format("  - smallest: {}\n", inert(sizes));
      if (const std::string needs = needs_in_words(record, c); !needs.empty())
        text += fmt::format("  - {}\n", needs);
    }
    if (combinations.empty()) text += fmt::format("**{}**\n", nothing_found_in_words(record));
    return text + "\n";
  }

  std::string findings_section(const IsolationRecord& record) {
    std::string text;
    for (const std::string& each : other_findings(record))
      text += fmt::format("- {}\n", inert(each));
    return text.empty() ? "" : "### Also seen\n\n" + text + "\n";
  }

  std::string repeat_section(const IsolationRecord& record) {
    std::string lines;
    for (std::size_t c = 0; c < record.result.details.size(); ++c)
      lines += command(repeat_line(record, c)) + "\n";
    return lines.empty() ? "" : "### Repeat a failing run\n\n" + markdown_code(lines) + "\n";
  }

  std::string fixes_section(const IsolationRecord& record) {
    if (!record.result.fixes) return "";
    const FixFinding& finding = *record.result.fixes;
    std::string table = "| fix | verdict | costs more |\n| --- | --- | --- |\n";
    std::string effects;
    for (const auto* list : {&finding.result.alone, &finding.result.pairs})
      for (const FixAttribution& each : *list) {
        const std::string cost = cost_in_words(record, each);
        table += fmt::format("| {} | {} | {} |\n", inert(fixes_label(record, each)),
                             inert(verdict_in_words(record, each)),
                             cost.empty() ? "not known" : inert(cost));
        for (const FixCellEffect& effect : each.effects) {
          const FixCell& cell = finding.cells[effect.cell];
          effects += fmt::format("| {} | {} | {} | {} |\n", inert(fixes_label(record, each)),
                                 inert(cell_label(record, cell)),
                                 cell.combinations.empty()
                                     ? finding.repeats == 1
                                           ? std::string("passes")
                                           : fmt::format("no failure in {} runs", finding.repeats)
                                     : std::string("fails"),
                                 inert(effect_in_words(record, effect)));
        }
      }
    std::string text = "### Fixes\n\n" + table + "\n";
    if (finding.repeats > 1)
      text += fmt::format("Each cell was run {} times; *resolves* means not seen in these.\n\n",
                          finding.repeats);
    for (const std::size_t cell : finding.result.unresolved_cells)
      text += fmt::format("No fix{} resolves {}.\n\n", finding.result.complete ? "" : " tried",
                          inert(cell_label(record, finding.cells[cell])));
    return text +
           fold("Each fix at each cell",
                "| fix | cell | without it | with it |\n| --- | --- | --- | --- |\n" + effects);
  }

  std::string certificate_section(const IsolationRecord& record, std::size_t c) {
    const Combination& combination = record.result.search.combinations[c];
    const Space& space = record.target.space();
    std::string text;
    if (!record.result.details[c].note.empty())
      text += fmt::format("> {}\n\n", inert(record.result.details[c].note));
    text +=
        "Each setting is needed: two runs that differ in it alone.\n\n"
        "| setting | with it | without it | in the run without it |\n| --- | --- | --- | --- |\n";
    for (const Necessity& each : combination.necessity)
      text += fmt::format(
          "| {}{} | {} | {} | {} |\n", inert(label_of(space, SettingSet{each.setting})),
          each.alone ? "" : " (constraints change others with it)",
          inert(counts(each.with, combination.flaky)), inert(counts(each.without, combination.flaky)),
          inert(label_of(space, each.without.assignment)));
    text += "\nIt fails whatever else is set:\n\n| switches on | runs |\n| --- | --- |\n";
    for (const Observation& each : combination.support)
      text += fmt::format("| {} | {} |\n", inert(label_of(space, each.assignment)),
                          inert(counts(each, combination.flaky)));
    return fold("Certificate of " + inert(combination_label(space, combination.settings)), text);
  }

  std::string coverage_section(const IsolationRecord& record) {
    std::string text =
        fmt::format("{}; {} trials.\n\n", search_in_words(record), record.result.trials);
    for (const std::string& each : coverage_in_words(record.result.search))
      text += fmt::format("- {}\n", each);
    for (const std::string& each : all_notices(record))
      text += fmt::format("- note: {}\n", inert(each));
    return "### Coverage\n\n" + text + "\n";
  }

  std::string environment_section(const IsolationRecord& record) {
    std::string text = "### Command and environment\n\n" +
                       markdown_code(command(shell_line(record.command))) + "\n";
    for (const auto& [name, value] : record.environment)
      text += fmt::format("- {}: {}\n", name, inert(value));
    if (record.scenario) text += fmt::format("\nUpstream: {}\n", inert(record.scenario->upstream));
    return text + "\n";
  }

  std::string launch_section(const LaunchNotes& launch) {
    if (launch.file.empty()) return "";
    const auto list = [this](const std::vector<std::string>& lines) {
      std::string text;
      for (const std::string& line : lines) text += fmt::format("- {}\n", inert(line));
      return text.empty() ? "- none\n" : text;
    };
    return fmt::format("Made from the launch script {} ({}), which was read and not run.\n\n",
                       inert(launch.file), inert(launch.dialect)) +
           fold(
               "What was read from the launch script",
               fmt::format("Modelled:\n{}\nRecognised, not modelled:\n{}\nNot recognised or not "
                           "known:\n{}",
                           list(launch.modelled), list(launch.not_modelled), list(launch.unknown)));
  }

  Redactor& redactor_;
};

}  // namespace

std::string isolation_markdown(const IsolationRecord& record, Redactor& redactor) {
  return Page(redactor).write(record);
}

}  // namespace culprit
