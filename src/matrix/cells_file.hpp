// A file of cells (CSV): the toggles in, the toggles and what each cell came to out.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "comm/runtime.hpp"
#include "config/cell.hpp"
#include "engine/model.hpp"
#include "outcome/outcome.hpp"

namespace culprit {

struct CellsFile {
  std::vector<std::string> columns;            // toggle columns, in the file's order
  std::vector<std::vector<std::string>> rows;  // their values, verbatim
  std::vector<Cell> cells;                     // one a row
};

// Reads a header of toggle columns in any order (result columns are ignored) and one cell a line. A
// missing column takes its default; that of `framework` can be given. Errors: UsageError with the
// line: an unknown or repeated column, an unknown value, a wrong number of values, an impossible
// combination, no header, a framework both given and a column.
CellsFile read_cells(std::istream& in, const std::optional<std::string>& framework = std::nullopt);

// The header and rows as read, with the result columns outcome, kind, where, loss, worst, checksum,
// freed.
void write_cells(std::ostream& out, const CellsFile& file, const std::vector<Outcome>& outcomes);

// Runs all cells in this process on `runtime`, `jobs` at a time; the reference is made once a
// shape. `on_done` is called from any worker with the number of cells done so far.
std::vector<Outcome> run_cells(const Model& model, const std::vector<Cell>& cells, std::size_t jobs,
                               Runtime& runtime,
                               const std::function<void(std::size_t done)>& on_done = {});

}  // namespace culprit
