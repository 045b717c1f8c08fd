#include "report/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "outcome/outcome_json.hpp"
#include "report/launch_json.hpp"
#include "report/triage_json.hpp"

namespace culprit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw UsageError(
        fmt::format("{}: can't be read; is this the folder of a finished run?", file.string()));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// What was pinned when the matrix was made: the base, and the depth of the pipeline that its switch
// turns on.
Json pinned_json(const Matrix& matrix) {
  Cell pinned = matrix.base;
  for (const Axis& axis : matrix.axes)
    if (axis.field->name == "pp") axis.field->set(pinned, axis.on[0].value);
  Json object = Json::object();
  for (const Field& row : fields()) object[row.name] = row.get(pinned);
  for (const auto& [name, value] : pinned.extra) object[name] = value;
  return object;
}

bool has_recompute(const Matrix& matrix) {
  return std::any_of(matrix.axes.begin(), matrix.axes.end(),
                     [](const Axis& axis) { return axis.field->name == "recompute"; });
}

Settings settings_from(const Json& object) {
  Settings settings;
  for (const auto& [name, value] : object.items())
    settings.emplace_back(name, value.get<std::string>());
  return settings;
}

Json reproductions_record(const RunRecord& record) {
  Json list = Json::array();
  for (const FindingReproductions& finding : record.reproductions) {
    Json files = Json::array();
    for (const Reproduction& file : finding.files)
      files.push_back(
          {{"file", file.name}, {"status", name_of(file.status)}, {"words", file.words}});
    list.push_back({{"job", finding.job},
                    {"minimal", finding.minimal},
                    {"folder", finding.folder},
                    {"sizes", finding.sizes},
                    {"files", files}});
  }
  return list;
}

Reproduction::Status status_named(const std::string& name) {
  using Status = Reproduction::Status;
  for (const Status status : {Status::kShown, Status::kNotShown, Status::kNotRun})
    if (name == name_of(status)) return status;
  return Status::kNotWritten;
}

// A record that came from elsewhere must not make a report quote files from outside of its folder,
// nor break out of the line in which a path is shown.
bool stays_inside(const fs::path& run_folder, const fs::path& within) {
  const std::string text = within.string();
  if (!within.is_relative() || !std::all_of(text.begin(), text.end(), [](char c) {
        return is_alphanumeric(c) || std::string_view("_+-./").find(c) != std::string_view::npos;
      }))
    return false;
  // Links are followed.
  const fs::path root = fs::weakly_canonical(run_folder),
                 real = fs::weakly_canonical(run_folder / within);
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

std::size_t index_from(const Json& value, const fs::path& run_folder) {
  if (!value.is_number_unsigned())
    throw SetupError(fmt::format("{}: got {}, expected the number of a job or combination",
                                 (run_folder / "run.json").string(), value.dump()));
  return value.get<std::size_t>();
}

// A file that was taken away meanwhile is not written.
FindingReproductions reproductions_from(const Json& object, const fs::path& run_folder) {
  FindingReproductions finding{.job = index_from(object.at("job"), run_folder),
                               .minimal = index_from(object.at("minimal"), run_folder),
                               .folder = object.at("folder"),
                               .sizes = object.at("sizes"),
                               .files = {}};
  for (const Json& entry : object.at("files")) {
    Reproduction file{.name = entry.at("file"),
                      .status = status_named(entry.at("status")),
                      .words = entry.at("words"),
                      .text = {}};
    const fs::path within = fs::path(finding.folder) / file.name, path = run_folder / within;
    if (!stays_inside(run_folder, within))
      throw SetupError(fmt::format("{}: reproduction '{}' is not in the run's folder",
                                   (run_folder / "run.json").string(), within.string()));
    if (file.status != Reproduction::Status::kNotWritten) {
      if (fs::is_regular_file(fs::symlink_status(path))) {
        file.text = read_text(path);
      } else {
        file.status = Reproduction::Status::kNotWritten;
        file.words = "no longer in the run's folder";
      }
    }
    finding.files.push_back(std::move(file));
  }
  return finding;
}

}  // namespace

std::string name_of(Reproduction::Status status) {
  switch (status) {
    case Reproduction::Status::kShown:
      return "shown";
    case Reproduction::Status::kNotShown:
      return "not shown";
    case Reproduction::Status::kNotRun:
      return "not run here";
    case Reproduction::Status::kNotWritten:
      return "not written";
  }
  return "";
}

std::string run_file(const RunRecord& record) {
  Json jobs = Json::array();
  for (const JobResult& job : record.jobs)
    jobs.push_back({{"title", job.title},
                    {"with_recompute", has_recompute(job.matrix)},
                    {"pinned", pinned_json(job.matrix)}});
  Json run{{"schema", kRunSchema},
           {"tool", kVersionText},
           {"scenario", record.scenario->name},
           {"command", record.command},
           {"environment", Json::array()},
           {"ran_on", record.ran_on},
           {"runtime_flags", record.runtime_flags},
           {"bin_folder", record.bin_folder},
           {"started_ms", record.started_ms},
           {"wall_seconds", record.wall_seconds},
           {"masked", record.masked},
           {"jobs", jobs},
           {"reproductions", reproductions_record(record)}};
  if (!record.triage.empty()) {
    run["triage"] = Json::array();
    for (const auto& of_job : record.triage) {
      Json list = Json::array();
      for (const Triage& each : of_job) list.push_back(triage_json(each));
      run["triage"].push_back(std::move(list));
    }
  }
  for (const auto& [name, value] : record.environment) run["environment"].push_back({name, value});
  if (!record.launch.file.empty())
    run["launch_script"] = launch_json(record.launch);
  return run.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

RecordedCells read_cells_file(const fs::path& folder) {
  const std::string text = read_text(folder / "cells.jsonl");
  RecordedCells recorded;
  std::vector<RecordedCell>& cells = recorded.cells;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) {
      recorded.is_cut = true;
      break;
    }
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    try {
      cells.push_back({.scenario = scenario_of_json_line(line),
                       .settings = settings_of_json_line(line),
                       .outcome = parse_json_line(line)});
    } catch (const SetupError& error) {
      throw SetupError(fmt::format("{}, line {}: {}", (folder / "cells.jsonl").string(),
                                   cells.size() + 1, error.what()));
    }
  }
  return recorded;
}

RunRecord read_run(const fs::path& folder) {
  const fs::path file = folder / "run.json";
  std::error_code cannot_tell;  // then reading it says why
  if (!fs::exists(file, cannot_tell) && !cannot_tell &&
      fs::exists(folder / "cells.jsonl", cannot_tell))
    throw UsageError(
        fmt::format("{}: is not there: the run was stopped before its end; start it again (the "
                    "cells that ran are in cells.jsonl, which `culprit diff` compares)",
                    file.string()));
  RunRecord record;
  Json jobs;
  try {
    const Json run = Json::parse(read_text(file));
    if (run.at("schema") != kRunSchema)
      throw SetupError(fmt::format("{}: schema {}, expected {}; use the version that wrote it",
                                   file.string(), run.at("schema").dump(), kRunSchema));
    record.scenario = &scenario_named(run.at("scenario"));
    record.command = run.at("command");
    for (const Json& pair : run.at("environment"))
      record.environment.emplace_back(pair.at(0), pair.at(1));
    record.ran_on = run.at("ran_on");
    record.runtime_flags = run.at("runtime_flags");
    record.bin_folder = run.at("bin_folder");
    record.started_ms = run.at("started_ms");
    record.wall_seconds = run.at("wall_seconds");
    record.masked = run.at("masked");
    if (run.contains("launch_script")) record.launch = launch_from(run["launch_script"]);
    jobs = run.at("jobs");
    for (const Json& of_job : run.value("triage", Json::array()))
      record.triage.push_back(triage_from(of_job));
    for (const Json& finding : run.value("reproductions", Json::array()))
      record.reproductions.push_back(reproductions_from(finding, folder));
    if (!jobs.is_array() || jobs.empty())
      throw SetupError(fmt::format("{}: holds no job", file.string()));
  } catch (const Json::exception& error) {
    throw SetupError(fmt::format("{}: not the record of a run: {}", file.string(), error.what()));
  }
  TrialRunner recorded(record.scenario->name, {.on_planned = {}, .on_done = {}});
  for (const RecordedCell& entry : read_cells_file(folder).cells) {
    Cell cell;
    apply_settings(*record.scenario, cell, entry.settings);
    recorded.remember(cell, entry.outcome);
  }
  record.num_trials = recorded.trials();
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    try {
      Cell pinned;
      apply_settings(*record.scenario, pinned, settings_from(jobs[j].at("pinned")));
      const bool with_recompute = jobs[j].at("with_recompute");
      record.jobs.push_back(run_matrix(
          *record.scenario, make_matrix(*record.scenario, pinned, with_recompute), recorded));
      record.jobs.back().title = jobs[j].at("title");
    } catch (const Json::exception& error) {
      throw SetupError(fmt::format("{}: job {}: {}", file.string(), j, error.what()));
    } catch (const SetupError& error) {
      throw SetupError(fmt::format("{}: {}; it was written by another version of culprit or cut",
                                   (folder / "cells.jsonl").string(), error.what()));
    }
    read_traces(record.jobs.back(), folder / "traces", trace_prefix(jobs.size(), j));
  }
  bool is_triage_whole = record.triage.empty() || record.triage.size() == record.jobs.size();
  for (std::size_t j = 0; is_triage_whole && j < record.triage.size(); ++j)
    is_triage_whole = record.triage[j].size() == record.jobs[j].minimal.size();
  if (!is_triage_whole)
    throw SetupError(fmt::format("{}: a triage of combinations that the run does not have",
                                 file.string()));
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const FindingReproductions& finding : record.reproductions)
    if (finding.job >= record.jobs.size() ||
        finding.minimal >= record.jobs[finding.job].minimal.size() ||
        !seen.emplace(finding.job, finding.minimal).second)
      throw SetupError(fmt::format(
          "{}: reproductions of a combination that the run does not have, or has twice",
          file.string()));
  return record;
}

std::string trace_prefix(std::size_t num_jobs, std::size_t job) {
  return num_jobs > 1 ? fmt::format("job{}_", job + 1) : "";
}

}  // namespace culprit
