// A run's folder: written, read back, compared with another.
#include "report/run_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "autograd/rules.hpp"
#include "base/error.hpp"
#include "gtest/gtest.h"
#include "outcome/outcome_json.hpp"
#include "report/json_report.hpp"
#include "report/made_up_record.hpp"
#include "report/run_diff.hpp"
#include "report/write_report.hpp"

namespace culprit {
namespace {

namespace fs = std::filesystem;

class RunFileTest : public testing::Test {
 protected:
  RunFileTest() {
    char name[] = "/tmp/culprit_run_file_XXXXXX";
    work_ = ::mkdtemp(name);
  }
  ~RunFileTest() override { fs::remove_all(work_); }

  // Every cell that the matrix, its fixes and the other framework's rules ask for, with `change` on top; missing ones read as
  // PASS.
  fs::path write(const std::string& name, const std::map<std::string, Outcome>& failing) {
    RunFolder folder(work_ / name);
    JobResult& job = record_.jobs[0];
    const auto append = [&](const Cell& cell, const Outcome& outcome) {
      folder.append_cell(to_json_line(record_.scenario->name, cell, outcome));
    };
    for (std::size_t i = 0; i < job.matrix.choices.size(); ++i) {
      const Cell cell = cell_of(job.matrix, job.matrix.choices[i]);
      const auto place = failing.find(label_of(job.matrix, job.matrix.choices[i]));
      const Outcome outcome = place == failing.end() ? Outcome{} : place->second;
      append(cell, outcome);
      if (place == failing.end()) continue;
      for (const int fan_out : {1, 2}) {
        Cell wide = cell;
        wide.fan_out = fan_out;
        append(wide, outcome);
        for (const Fix& fix : candidate_fixes())
          if (const FixedCell fixed = apply_fix(fix, wide); fixed.applies)
            append(fixed.cell, Outcome{});
      }
      std::vector<std::string> frameworks{std::string(kComparedFramework)};
      for (const NamedRule& rule : named_rules())
        if (rules_of(cell.framework).*rule.field != rules_of(kComparedFramework).*rule.field)
          frameworks.push_back(cell.framework + "+" + rule.name);
      for (const std::string& framework : frameworks) {
        Cell elsewhere = cell;
        elsewhere.framework = framework;
        append(elsewhere, Outcome{});
      }
      Cell small = cell;
      small.acc = 1;
      append(small, outcome);
      small.hidden = 2;
      small.tokens = 1;
      small.blocks = small.pp;
      append(small, outcome);
    }
    write_reports(folder.path(), record_, {"paddle"});
    return folder.path();
  }
  std::string text(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  fs::path work_;
  RunRecord record_ = test::made_up_record();
};

TEST_F(RunFileTest, RunsThatBeginAtOnceWithoutAFolderHaveOneEach) {
  const fs::path before = fs::current_path();
  fs::current_path(work_);
  constexpr std::size_t kRuns = 8;
  std::mutex adding;
  std::set<fs::path> paths;
  std::vector<std::thread> runs;
  for (std::size_t i = 0; i < kRuns; ++i)
    runs.emplace_back([&] {
      try {
        const RunFolder folder{fs::path()};
        const std::lock_guard lock(adding);
        paths.insert(folder.path());
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& run : runs) run.join();
  EXPECT_EQ(paths.size(), kRuns);
  for (const fs::path& path : paths) EXPECT_TRUE(fs::exists(path / "cells.jsonl")) << path;
  fs::current_path(before);
}
TEST_F(RunFileTest, ARecordIsReadBackAndWritesTheSameReports) {
  const fs::path folder = write("run", {{"skip_c_identity + residual", test::leaf_error()}});
  const RunRecord read = read_run(folder);
  EXPECT_EQ(read.command, record_.command);
  ASSERT_EQ(read.jobs[0].minimal.size(), 1U);
  EXPECT_EQ(read.jobs[0].minimal[0].index,
            test::index_of(read.jobs[0].matrix, "skip_c_identity + residual"));
  std::map<std::string, std::string> before;
  write_reports(folder, read, {"paddle"});
  for (const auto& entry : fs::directory_iterator(folder))
    before[entry.path().filename()] = text(entry.path());
  write_reports(folder, read_run(folder), {"paddle"});
  for (const auto& [name, content] : before) EXPECT_EQ(text(folder / name), content) << name;
  for (const char* name : {"report.md", "report.html", "report.json", "matrix.svg", "junit.xml",
                           "ctrf.json", "trace.json", "graph.dot", "run.json", "form_paddle.md"})
    EXPECT_TRUE(before.contains(name)) << name;
}
TEST_F(RunFileTest, AFolderOfNoRunAndACutRecordAreRefused) {
  EXPECT_THROW(read_run(work_ / "nowhere"), UsageError);
  const fs::path folder = write("run", {});
  const std::string cells = text(folder / "cells.jsonl");
  std::ofstream(folder / "cells.jsonl", std::ios::binary) << cells.substr(0, cells.size() / 2);
  EXPECT_THROW(read_run(folder), SetupError);
  std::ofstream(folder / "run.json", std::ios::binary) << "{";
  EXPECT_THROW(read_run(folder), SetupError);
  fs::remove(folder / "run.json");
  try {
    read_run(folder);
    ADD_FAILURE() << "a run that was stopped was read";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("stopped before its end"), std::string::npos)
        << error.what();
  }
}
TEST_F(RunFileTest, DiffSaysWhichFileWasCut) {
  const fs::path whole = write("whole", {}), cut = write("cut", {});
  const std::string cells = text(cut / "cells.jsonl");
  std::ofstream(cut / "cells.jsonl", std::ios::binary) << cells.substr(0, cells.size() - 5);
  EXPECT_TRUE(diff_runs(whole, whole).cut_files.empty());
  const RunDiff diff = diff_runs(whole, cut);
  EXPECT_EQ(diff.cut_files, std::vector<std::string>{(cut / "cells.jsonl").string()});
  EXPECT_EQ(diff.only_before, 1U);
}
TEST_F(RunFileTest, DiffNamesWhatWasFixedBrokenAndTurnedSilent) {
  Outcome silent;
  silent.outcome = OutcomeClass::kWrongGrad;
  silent.worst = 1.0;
  Outcome hang;
  hang.outcome = OutcomeClass::kHang;
  const fs::path before = write("before", {{"skip_c_identity", test::leaf_error()},
                                           {"pp-merge", test::leaf_error()},
                                           {"residual", hang}});
  const fs::path after = write(
      "after", {{"pp-merge", silent}, {"residual", test::leaf_error()}, {"operator before", hang}});
  const RunDiff diff = diff_runs(before, after);
  std::map<std::string_view, int> kinds;
  for (const CellChange& change : diff.changes) ++kinds[change_name(change.kind)];
  EXPECT_TRUE(kinds.contains("fixed") && kinds.contains("broken") &&
              kinds.contains("turned silent") && kinds.contains("differs"));
  EXPECT_EQ(change_name(diff.changes.front().kind), "broken");
  EXPECT_TRUE(diff.got_worse());
  EXPECT_TRUE(diff_runs(before, before).changes.empty());
  const fs::path fixed = write("fixed", {});
  EXPECT_FALSE(diff_runs(before, fixed).got_worse());
  EXPECT_TRUE(diff_runs(fixed, before).got_worse());
}
TEST_F(RunFileTest, DiffComparesFrameworksAndRefusesOtherScenarios) {
  const auto write_cells = [&](const std::string& name, const std::string& scenario,
                               const std::string& framework) {
    RunFolder folder(work_ / name);
    Cell cell;
    cell.framework = framework;
    folder.append_cell(to_json_line(scenario, cell, Outcome{}));
    return folder.path();
  };
  const fs::path one = write_cells("one", "skip_identity_leaf", "paddle@3.3.1"),
                 two = write_cells("two", "skip_identity_leaf", "paddle@2.6.2");
  const RunDiff diff = diff_runs(one, two);
  EXPECT_EQ(diff.num_compared, 1U);
  EXPECT_EQ(diff.framework_after, "paddle@2.6.2");
  EXPECT_THROW(diff_runs(one, write_cells("three", "skip_identity_residual", "paddle@3.3.1")),
               UsageError);
}

}  // namespace
}  // namespace culprit
