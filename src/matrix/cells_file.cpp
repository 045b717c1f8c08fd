#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <istream>
#include <mutex>
#include <ostream>
#include <thread>

#include "base/error.hpp"
#include "engine/run_cell.hpp"
#include "matrix/cells_file.hpp"
#include "outcome/judge.hpp"

namespace culprit {
namespace {

constexpr std::array<std::string_view, 8> kResultColumns{"outcome", "kind",     "where", "loss",
                                                         "worst",   "checksum", "freed", "detail"};

// Values of one line; fields may be quoted as RFC 4180 has it. Errors: UsageError.
std::vector<std::string> split_line(const std::string& line, int number) {
  std::vector<std::string> values(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      values.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  if (quoted) throw UsageError(fmt::format("line {}: a quote is not closed", number));
  return values;
}

std::string quoted(const std::string& value) {
  if (value.find_first_of(",\"\n") == std::string::npos) return value;
  std::string text = "\"";
  for (const char c : value) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

bool next_line(std::istream& in, std::string& line, int& number) {
  if (!std::getline(in, line)) return false;
  ++number;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  // In a message it would hide what follows.
  if (line.find('\0') != std::string::npos)
    throw UsageError(fmt::format("line {}: a NUL byte, expected text", number));
  return true;
}

// For each column of the header its field, or null for a result column.
std::vector<const Field*> read_header(const std::vector<std::string>& names) {
  std::vector<const Field*> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      throw UsageError(fmt::format("line 1: column '{}' stands twice", name));
    const auto row = std::find_if(fields().begin(), fields().end(),
                                  [&](const Field& f) { return f.name == name; });
    if (row != fields().end()) {
      columns.push_back(&*row);
    } else if (std::find(kResultColumns.begin(), kResultColumns.end(), name) !=
               kResultColumns.end()) {
      columns.push_back(nullptr);
    } else {
      std::vector<std::string> known;
      for (const Field& f : fields()) known.push_back(f.name);
      throw UsageError(
          fmt::format("line 1: unknown column '{}', known are {} and the result columns {}", name,
                      fmt::join(known, ", "), fmt::join(kResultColumns, ", ")));
    }
  }
  return columns;
}

}  // namespace

CellsFile read_cells(std::istream& in, const std::optional<std::string>& framework) {
  Cell defaults;
  if (framework) field("framework").set(defaults, *framework);
  CellsFile file;
  std::string line;
  int number = 0;
  if (!next_line(in, line, number) || line.empty())
    throw UsageError("line 1: no header; expected toggle columns such as tp,pp,acc,recompute");
  if (line.starts_with("\xEF\xBB\xBF"))
    line.erase(0, 3);  // the mark that spreadsheets put before UTF-8
  const auto columns = read_header(split_line(line, number));
  for (const Field* column : columns)
    if (column) file.columns.push_back(column->name);
  if (file.columns.empty())
    throw UsageError("line 1: no toggle column; expected such as tp,pp,acc,recompute");
  const auto named = std::find(file.columns.begin(), file.columns.end(), "framework");
  if (framework && named != file.columns.end())
    throw UsageError(
        fmt::format("line 1: the column framework and --framework {} are both given; leave one out",
                    *framework));
  const bool has_blocks =
      std::find(file.columns.begin(), file.columns.end(), "blocks") != file.columns.end();

  while (next_line(in, line, number)) {
    if (line.empty()) continue;
    const auto values = split_line(line, number);
    if (values.size() != columns.size())
      throw UsageError(fmt::format("line {}: got {} values, expected {}", number, values.size(),
                                   columns.size()));
    Cell cell = defaults;
    std::vector<std::string> toggles;
    try {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!columns[i]) continue;
        columns[i]->set(cell, values[i]);
        toggles.push_back(values[i]);
      }
      if (!has_blocks) cell.blocks = default_blocks(cell.pp);
      validate(cell);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("line {}: {}", number, error.what()));
    }
    file.rows.push_back(std::move(toggles));
    file.cells.push_back(std::move(cell));
  }
  return file;
}

void write_cells(std::ostream& out, const CellsFile& file, const std::vector<Outcome>& outcomes) {
  out << fmt::format("{},outcome,kind,where,loss,worst,checksum,freed\n",
                     fmt::join(file.columns, ","));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    std::string line;
    for (const auto& value : file.rows[i]) line += quoted(value) + ',';
    line += fmt::format("{},{},{},", row_of(outcome.outcome).name, quoted(outcome.kind),
                        quoted(outcome.where));
    if (outcome.loss) line += fmt::format("{:.7g}", *outcome.loss);
    line += ',';
    if (outcome.worst) line += fmt::format("{:.3g}", *outcome.worst);
    line += ',' + quoted(checksum_text(outcome)) + ',';
    if (outcome.freed) line += std::to_string(*outcome.freed);
    out << line << '\n';
  }
}

std::vector<Outcome> run_cells(const Model& model, const std::vector<Cell>& cells, std::size_t jobs,
                               Runtime& runtime,
                               const std::function<void(std::size_t done)>& on_done) {
  ReferenceCache references(model);
  std::vector<Outcome> outcomes(cells.size());
  std::atomic<std::size_t> next{0}, done{0};
  std::exception_ptr broken;
  std::mutex broken_mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < cells.size(); i = next++) {
        outcomes[i] =
            judge(cells[i], run_cell(model, cells[i], {.on_operation = {}, .runtime = &runtime}),
                  *references.get(cells[i]));
        const std::size_t count = ++done;
        if (on_done) on_done(count);
      }
    } catch (...) {
      const std::lock_guard lock(broken_mutex);
      if (!broken) broken = std::current_exception();
      next = cells.size();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::size_t j = 1; j < std::max<std::size_t>(1, jobs); ++j) workers.emplace_back(work);
    work();
  }
  if (broken) std::rethrow_exception(broken);
  return outcomes;
}

}  // namespace culprit
