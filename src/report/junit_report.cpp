#include "report/junit_report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "report/markup.hpp"
#include "report/wording.hpp"

namespace culprit {
namespace {

std::string cell_case(const std::string& suite, const JobResult& job, std::size_t index) {
  const Outcome& outcome = job.outcomes[index];
  return fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" "
      "time=\"0\"><system-out>{}</system-out></testcase>\n",
      xml_text(suite), xml_text(label_of(job.matrix, job.matrix.choices[index])),
      xml_text(outcome_in_words(outcome) +
               (outcome.message.empty() ? "" : ": " + outcome.message)));
}

std::string declared_case(const std::string& suite, const JobResult& job) {
  std::string problem;
  for (const std::string& difference : job.differences) problem += xml_text(difference) + "\n";
  if (!problem.empty())
    problem =
        "<failure type=\"not-as-declared\" message=\"not as declared\">" + problem + "</failure>";
  return fmt::format(
      "    <testcase classname=\"{}\" name=\"came out as declared\" time=\"0\">{}</testcase>\n",
      xml_text(suite), problem);
}

}  // namespace

std::string junit_report(const RunRecord& record) {
  std::string body;
  std::size_t tests = 0, failures = 0;
  for (const JobResult& job : record.jobs) {
    const std::string suite = record.scenario->name + (job.title.empty() ? "" : "." + job.title);
    for (std::size_t i = 0; i < job.matrix.choices.size(); ++i) body += cell_case(suite, job, i);
    body += declared_case(suite, job);
    tests += job.matrix.choices.size() + 1;
    failures += job.differences.empty() ? 0 : 1;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"culprit\" tests=\"{0}\" "
      "failures=\"{1}\" errors=\"0\" "
      "skipped=\"0\" time=\"{2:.3f}\" timestamp=\"{3:%Y-%m-%dT%H:%M:%S}\">\n  <testsuite "
      "name=\"{4}\" tests=\"{0}\" failures=\"{1}\" "
      "errors=\"0\" skipped=\"0\">\n{5}  </testsuite>\n</testsuites>\n",
      tests, failures, record.wall_seconds,
      fmt::gmtime(static_cast<std::time_t>(record.started_ms / 1000)),
      xml_text(record.scenario->name), body);
}

}  // namespace culprit
