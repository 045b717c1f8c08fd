#include "app/run_reproductions.hpp"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <string>

#include "base/ascii.hpp"
#include "outcome/run_once.hpp"
#include "report/explain.hpp"
#include "repro_files/repro_files.hpp"

namespace culprit {
namespace fs = std::filesystem;
namespace {

// "skip_c_identity + recompute (reentrant)" as the name of a folder.
std::string folder_name(const std::string& label) {
  std::string name;
  const auto strip = [&] {
    if (!name.empty() && name.back() == '_') name.pop_back();
  };
  for (const char c : label) {
    if (is_alphanumeric(c) || c == '_' || c == '-') {
      name += c;
    } else if (c == '+') {
      strip();
      name += c;
    } else if (!name.empty() && name.back() != '_' && name.back() != '+') {
      name += '_';
    }
  }
  strip();
  return name.empty() ? "cell" : name;
}

struct MadeFiles {
  Cell cell;  // at the smallest sizes
  std::vector<ReproResult> files;
};

MadeFiles make_files(const Scenario& scenario, const Cell& cell, const Outcome& seen,
                     const std::string& label) {
  const ReproRequest as_seen{scenario, cell, seen, label};
  // What may stop this process is not run in it, and no text can show it.
  if (seen.outcome != OutcomeClass::kError && seen.outcome != OutcomeClass::kWrongGrad &&
      seen.outcome != OutcomeClass::kMissingGrad)
    return {cell, make_repro_files(as_seen)};
  // The run may have been on a GPU, and its texts are masked.
  const ReproRequest here{scenario, cell, run_once(scenario.model, cell), label};
  if (fingerprint(here.outcome) != fingerprint(seen))
    return {cell, refuse_all(fmt::format("on the CPU this cell comes to {}, not {}",
                                         row_of(here.outcome.outcome).name, fingerprint(seen)))};
  const ReproRequest smallest = at_smallest_sizes(here);
  return {smallest.cell, make_repro_files(smallest)};
}

std::string flags_of(const Cell& cell) {
  std::string text;
  for (const std::string& flag : to_flags(cell)) text += flag + " ";
  return text;
}

Reproduction note_of(const ReproResult& result) {
  if (const auto* refusal = std::get_if<ReproRefusal>(&result))
    return {.name = refusal->name,
            .status = Reproduction::Status::kNotWritten,
            .words = refusal->reason,
            .text = {}};
  const auto& file = std::get<ReproFile>(result);
  return {.name = file.name, .words = "--no-verify", .text = file.text};
}

Reproduction::Status status_of(const ReproCheck& check) {
  switch (check.status) {
    case ReproCheck::Status::kShown:
      return Reproduction::Status::kShown;
    case ReproCheck::Status::kNotShown:
      return Reproduction::Status::kNotShown;
    case ReproCheck::Status::kNotRun:
      return Reproduction::Status::kNotRun;
    case ReproCheck::Status::kRefused:
      return Reproduction::Status::kNotWritten;
  }
  return Reproduction::Status::kNotWritten;
}

}  // namespace

WrittenReproductions write_reproductions(const RunRecord& record, const fs::path& folder) {
  WrittenReproductions written;
  std::map<std::string, std::size_t> by_flags;   // the finding that has a cell's files
  std::map<std::string, std::size_t> num_named;  // so many cells want this folder name
  for (std::size_t j = 0; j < record.jobs.size(); ++j)
    for (std::size_t m = 0; m < record.jobs[j].minimal.size(); ++m) {
      if (written.findings.size() == kMaxReproduced) return written;
      const JobResult& job = record.jobs[j];
      const std::size_t index = job.minimal[m].index;
      const std::string label = label_of(job.matrix, job.matrix.choices[index]);
      const MadeFiles made =
          make_files(*record.scenario, cell_of(job.matrix, job.matrix.choices[index]),
                     job.outcomes[index], label);
      FindingReproductions finding{
          .job = j, .minimal = m, .folder = {}, .sizes = sizes_in_words(made.cell), .files = {}};
      const auto [known, is_new] =
          by_flags.try_emplace(label + " " + flags_of(made.cell), written.findings.size());
      if (is_new) {
        const std::string name = folder_name(label);
        const std::size_t number = ++num_named[name];
        finding.folder = "repros/" + name + (number > 1 ? fmt::format("_{}", number) : "");
        for (const ReproResult& result : made.files) finding.files.push_back(note_of(result));
        write_repro_files(folder / finding.folder, made.files);
        written.first_file.push_back(written.files.size());
        written.files.insert(written.files.end(), made.files.begin(), made.files.end());
      } else {
        finding.folder = written.findings[known->second].folder;
        finding.files = written.findings[known->second].files;
        written.first_file.push_back(written.first_file[known->second]);
      }
      written.findings.push_back(std::move(finding));
    }
  return written;
}

void check_reproductions(WrittenReproductions& written, const ReproCheckOptions& options) {
  std::vector<ReproCheck> checks;
  std::string trouble;
  try {
    checks = check_repro_files(written.files, options);
  } catch (const std::exception& error) {
    trouble = fmt::format("not checked: {}", error.what());
  }
  for (std::size_t f = 0; f < written.findings.size(); ++f)
    for (std::size_t i = 0; i < written.findings[f].files.size(); ++i) {
      Reproduction& file = written.findings[f].files[i];
      if (file.status == Reproduction::Status::kNotWritten) continue;
      if (trouble.empty()) {
        const ReproCheck& check = checks[written.first_file[f] + i];
        file.status = status_of(check);
        file.words = check.words;
      } else {
        file.words = trouble;
      }
    }
}

}  // namespace culprit
