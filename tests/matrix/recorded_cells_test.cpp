// Every recorded cell of the released frameworks (tests/data/README.md) against the engine: what
// each came to, where, and its numbers, the wrong ones included.
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "gtest/gtest.h"
#include "matrix/cells_file.hpp"
#include "outcome/judge.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

constexpr const char* kPaddleCells = "paddle_3.3.1_cells.csv";
constexpr const char* kTorchCells = "torch_cells.csv";
// Both sides are float32, added up in different orders; the file has 6 digits.
constexpr double kRelative = 1e-4;
// Below this a checksum is rounding noise of gradients near 1.
constexpr double kNoise = 1e-6;

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// The recorded file holds no quotes.
std::vector<Row> recorded_rows(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  const auto header = split(line, ',');
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const auto values = split(line, ',');
    Row row;
    for (std::size_t i = 0; i < header.size(); ++i)
      row[header[i]] = i < values.size() ? values[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string recorded_text(const std::string& file) {
  std::ifstream in(std::string(CULPRIT_TEST_DATA) + "/" + file);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool near(double got, double expected) {
  return std::abs(got - expected) <= std::max(kRelative * std::abs(expected), kNoise);
}

// What differs between a recorded row and an outcome, in words; empty if nothing does.
std::string difference(const Row& row, const Outcome& outcome) {
  const auto text = [&](const char* column, const std::string& got) {
    return row.at(column) == got
               ? ""
               : std::string(column) + ": got '" + got + "', recorded '" + row.at(column) + "'";
  };
  if (auto off = text("outcome", std::string(row_of(outcome.outcome).name)); !off.empty())
    return off;
  if (auto off = text("kind", outcome.kind); !off.empty()) return off;
  // Of a wrong gradient only the parameter with the largest deviation is named: within rounding of
  // a tie any.
  if (auto off = text("where", outcome.where); !off.empty()) return off;
  if (auto off = text("freed", outcome.freed ? std::to_string(*outcome.freed) : ""); !off.empty())
    return off;
  if (row.at("loss").empty() != !outcome.loss) return "loss: only one side has one";
  if (outcome.loss && !near(*outcome.loss, std::stod(row.at("loss"))))
    return "loss: got " + std::to_string(*outcome.loss) + ", recorded " + row.at("loss");
  const auto sums = split(row.at("checksum"), ' ');
  if (sums.size() != outcome.checksums.size()) return "checksum: another number of parameters";
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto equals = sums[i].find('=');
    const auto& [name, sum] = outcome.checksums[i];
    if (sums[i].substr(0, equals) != name) return "checksum: got " + name + ", recorded " + sums[i];
    if (!near(sum, std::stod(sums[i].substr(equals + 1))))
      return "checksum of " + name + ": got " + std::to_string(sum) + ", recorded " + sums[i];
  }
  return "";
}

// Cells and recorded rows of a file, every `step`-th of them.
struct Recorded {
  explicit Recorded(std::size_t step, const char* name = kPaddleCells) {
    const std::string text = recorded_text(name);
    std::istringstream in(text);
    const CellsFile file = read_cells(in);
    const std::vector<Row> all = recorded_rows(text);
    for (std::size_t i = 0; i < std::min(all.size(), file.cells.size()); i += step) {
      cells.push_back(file.cells[i]);
      rows.push_back(all[i]);
    }
  }
  std::vector<Outcome> run(std::size_t jobs) const {
    return run_cells(scenario_named("skip_identity_leaf").model, cells, jobs, cpu_threads());
  }
  std::vector<Cell> cells;
  std::vector<Row> rows;
};
constexpr std::size_t kSampleStep = 17;  // prime: meets every value of every toggle

void expect_all_as_recorded(const char* file, std::size_t num_rows) {
  const Recorded recorded(1, file);
  ASSERT_EQ(recorded.rows.size(), num_rows);
  const auto outcomes = recorded.run(std::max(1U, std::thread::hardware_concurrency()));
  constexpr int kShown = 10;
  int differing = 0;
  for (std::size_t i = 0; i < recorded.rows.size(); ++i) {
    const std::string off = difference(recorded.rows[i], outcomes[i]);
    if (off.empty()) continue;
    if (++differing <= kShown) ADD_FAILURE() << "line " << i + 2 << ": " << off;
  }
  EXPECT_EQ(differing, 0);
}

TEST(RecordedCellsTest, EveryRowComesOutAsRecorded) { expect_all_as_recorded(kPaddleCells, 4276); }

TEST(RecordedCellsTest, EveryRowOfPyTorchComesOutAsRecorded) { expect_all_as_recorded(kTorchCells, 1200); }

TEST(RecordedCellsTest, RowsOfPyTorchHoldEveryOutcomeAndKind) {
  const Recorded recorded(1, kTorchCells);
  std::map<std::string, int> counts;
  for (const Row& row : recorded.rows) ++counts[row.at("outcome") + " " + row.at("kind")];
  for (const char* name : {"PASS ", "WRONG_GRAD ", "MISSING_GRAD ", "ERROR LEAF_INPLACE", "ERROR INPLACE_VERSION",
                           "ERROR VIEW_INPLACE", "ERROR NO_GRAD_FN", "ERROR NO_INPUT_GRAD", "ERROR RELEASED_VIEW"})
    EXPECT_GE(counts[name], static_cast<int>(recorded.rows.size()) * 3 / 100) << name;
  EXPECT_EQ(counts.size(), 9U);
}

TEST(RecordedCellsTest, ComparisonCatchesADoctoredRow) {
  const Recorded recorded(kSampleStep);
  const auto outcomes = recorded.run(1);
  std::map<std::string, int> caught;
  for (std::size_t i = 0; i < recorded.rows.size(); ++i) {
    for (const char* column : {"outcome", "kind", "where", "freed"}) {
      Row doctored = recorded.rows[i];
      doctored[column] += "7";
      caught[column] += !difference(doctored, outcomes[i]).empty();
    }
    if (recorded.rows[i].at("loss").empty()) continue;
    Row doctored = recorded.rows[i];
    doctored["loss"] = std::to_string(std::stod(recorded.rows[i].at("loss")) * (1 + 2e-3));
    caught["loss"] += !difference(doctored, outcomes[i]).empty();
    doctored = recorded.rows[i];
    auto& sums = doctored["checksum"];
    sums.replace(sums.find('=') + 1, 0, "1");  // of the first parameter
    caught["checksum"] += !difference(doctored, outcomes[i]).empty();
    doctored = recorded.rows[i];
    doctored["checksum"] += " extra@0.0=1";
    caught["extra"] += !difference(doctored, outcomes[i]).empty();
  }
  for (const char* column : {"outcome", "kind", "where", "freed"})
    EXPECT_EQ(caught[column], static_cast<int>(recorded.rows.size())) << column;
  EXPECT_GT(caught["loss"], 0);
  EXPECT_EQ(caught["checksum"], caught["loss"]);
  EXPECT_EQ(caught["extra"], caught["loss"]);
}

TEST(RecordedCellsTest, ResultDoesNotDependOnTheNumberOfJobs) {
  const Recorded recorded(5 * kSampleStep);
  const auto alone = recorded.run(1), together = recorded.run(4);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(checksum_text(alone[i]), checksum_text(together[i])) << i;
    EXPECT_EQ(alone[i].where, together[i].where) << i;
  }
}

}  // namespace
}  // namespace culprit
