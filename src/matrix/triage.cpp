#include "matrix/triage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"

namespace culprit {
namespace {

constexpr std::array<std::pair<TriageVerdict, std::string_view>, 4> kNames{
    {{TriageVerdict::kIndependent, "independent of back end"},
     {TriageVerdict::kOnlyWith, "only with"},
     {TriageVerdict::kTimingOnly, "timing only"},
     {TriageVerdict::kUndecided, "undecided"}}};

// The cell with the wait that it leaves out; none: it leaves out none.
std::optional<Cell> with_wait(const Scenario& scenario, const Cell& cell) {
  if (own_value(cell, "wait") != "left_out") return std::nullopt;
  Cell waited = cell;
  field_of(scenario, "wait").set(waited, "kept");
  return waited;
}

std::string shown(const std::string& print) { return print.empty() ? "PASS" : print; }

// Where the passing neighbour fails, what the combination comes to says nothing of it.
bool is_fit(const TriageRow& row) { return row.absent.empty() && (!row.twin || row.twin->empty()); }

std::string in_one_line(const std::string& words) {
  std::string text;
  for (const char c : words)
    if (c != '\n')
      text += c;
    else if (!text.empty() && !text.ends_with("; "))
      text += "; ";
  while (text.ends_with(' ') || text.ends_with(';')) text.pop_back();
  return text;
}

}  // namespace

std::string_view name_of(TriageVerdict verdict) {
  for (const auto& [value, name] : kNames)
    if (value == verdict) return name;
  return "";
}
std::optional<TriageVerdict> triage_verdict_named(std::string_view name) {
  for (const auto& [value, each] : kNames)
    if (each == name) return value;
  return std::nullopt;
}

Triage judge_triage(std::vector<TriageRow> rows) {
  Triage result;
  result.rows = std::move(rows);
  std::vector<std::string> here, failing, waits_help, blocking_differs;
  std::string first_print;
  bool fails_alike = true, wait_always_helps = true;
  std::string unfit;
  for (std::size_t r = 0; r < result.rows.size(); ++r) {
    const TriageRow& row = result.rows[r];
    if (!row.absent.empty()) continue;
    if (!is_fit(row)) {
      unfit += fmt::format("; {} is not judged: the passing neighbour fails there too ({})",
                           row.backend, *row.twin);
      continue;
    }
    if (row.is_blocking) {
      // The row before it is the same back end as it is.
      if (r == 0) continue;
      const TriageRow& as_is = result.rows[r - 1];
      if (is_fit(as_is) && as_is.failing != row.failing)
        blocking_differs.push_back(fmt::format("{} under CUDA_LAUNCH_BLOCKING=1, {} without",
                                               shown(row.failing), shown(as_is.failing)));
      continue;
    }
    here.push_back(row.backend);
    if (row.failing.empty()) continue;
    if (failing.empty()) first_print = row.failing;
    fails_alike &= row.failing == first_print;
    failing.push_back(row.backend);
    if (row.waited && row.waited->empty())
      waits_help.push_back(row.backend);
    else
      wait_always_helps = false;
  }
  const auto decide = [&](TriageVerdict verdict, const std::string& why) {
    result.verdict = verdict;
    result.in_words = std::string(name_of(verdict)) + why + unfit;
  };
  if (!blocking_differs.empty())
    decide(TriageVerdict::kTimingOnly, fmt::format(" ({})", fmt::join(blocking_differs, "; ")));
  else if (!waits_help.empty() && wait_always_helps)
    decide(TriageVerdict::kTimingOnly,
           fmt::format(" (with the wait it passes: {})", fmt::join(waits_help, ", ")));
  else if (here.size() < 2)
    decide(TriageVerdict::kUndecided,
           fmt::format(" (only {} is here)", here.empty() ? "no back end" : here[0]));
  else if (failing.size() == here.size() && fails_alike)
    decide(TriageVerdict::kIndependent, fmt::format(" ({})", fmt::join(here, ", ")));
  else if (failing.empty())
    decide(TriageVerdict::kUndecided,
           fmt::format(" (passes now on each of {})", fmt::join(here, ", ")));
  else if (failing.size() < here.size())
    decide(TriageVerdict::kOnlyWith, fmt::format(" {}", fmt::join(failing, ", ")));
  else {
    std::vector<std::string> each;
    for (const TriageRow& row : result.rows)
      if (is_fit(row) && !row.is_blocking)
        each.push_back(fmt::format("{} on {}", row.failing, row.backend));
    decide(TriageVerdict::kOnlyWith,
           fmt::format(" its own failure each: {}", fmt::join(each, ", ")));
  }
  return result;
}

Triage triage(const Scenario& scenario, const JobResult& job, const MinimalFinding& finding,
              const std::vector<TriageBackend>& backends) {
  const Cell failing = cell_of(job.matrix, job.matrix.choices[finding.index]);
  std::vector<Cell> cells{failing};
  if (finding.passing_neighbour)
    cells.push_back(cell_of(job.matrix, job.matrix.choices[*finding.passing_neighbour]));
  const std::optional<Cell> waited = with_wait(scenario, failing);
  if (waited) cells.push_back(*waited);
  std::vector<TriageRow> rows;
  for (const TriageBackend& backend : backends) {
    TriageRow row{.backend = backend.name,
                  .absent = backend.absent,
                  .failing = {},
                  .twin = {},
                  .waited = {},
                  .is_blocking = backend.is_blocking};
    if (row.absent.empty()) try {
        const std::vector<Outcome> outcomes =
            TrialRunner(scenario.name, backend.options).run(cells);
        row.failing = fingerprint(outcomes[0]);
        if (finding.passing_neighbour) row.twin = fingerprint(outcomes[1]);
        if (waited) row.waited = fingerprint(outcomes.back());
      } catch (const Error& error) {
        // Trouble of one back end must not cost what was found on the others.
        row.absent = in_one_line(error.what());
      }
    rows.push_back(std::move(row));
  }
  return judge_triage(std::move(rows));
}

}  // namespace culprit
