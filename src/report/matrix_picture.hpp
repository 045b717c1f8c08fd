// A matrix laid out in two dimensions: some switches across, the others down, nested, each off
// first. Shared by matrix.svg and report.html.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace culprit {

struct MatrixPicture {
  std::vector<std::size_t> across;  // axes of the matrix, outermost first
  std::vector<std::size_t> down;
  std::size_t columns = 1;
  std::size_t rows = 1;
  std::vector<std::optional<std::size_t>>
      cells;  // row-major, into Matrix::choices; none: the cell is impossible

  std::optional<std::size_t> at(std::size_t row, std::size_t column) const {
    return cells[row * columns + column];
  }
};

// The first switch is always across; then as many as fit. Columns stay few (8, up to 32 in large
// matrices), so that the picture fits on a phone.
MatrixPicture picture_of(const Matrix& matrix);

// How often a header of axes[level] repeats: its values each span the product of the inner axes.
std::size_t inner_span(const Matrix& matrix, const std::vector<std::size_t>& axes,
                       std::size_t level);

// "recompute"; "skip_c_identity" for a switch with one on-value.
std::string axis_title(const Axis& axis);
// "off", "on", "reentrant"
std::string value_title(const Axis& axis, std::size_t value);

// Failures of one picture by fingerprint: A, B, ..., Z, then A2, B2, ... Those of minimal
// combinations come first.
class FailureKey {
 public:
  explicit FailureKey(const JobResult& job);
  // Empty for a passing outcome.
  std::string letter(const Outcome& outcome) const;
  struct Entry {
    std::string letter;
    std::string fingerprint;
    std::size_t example = 0;  // a cell with it
    std::size_t num_cells = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void add(const JobResult& job, std::size_t index);
  std::vector<Entry> entries_;
};

// The number, from 1, of a minimal combination that is this cell; 0: it is none.
std::size_t minimal_number(const JobResult& job, std::size_t index);

}  // namespace culprit
