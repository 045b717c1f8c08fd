#include "report/matrix_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace culprit {
namespace {

std::size_t num_values(const Axis& axis) { return axis.on.size() + 1; }

// How many of the first axes go across when at most `most` columns are wanted.
std::size_t num_across(const Matrix& matrix, std::size_t most) {
  std::size_t columns = 1, count = 0;
  for (const Axis& axis : matrix.axes) {
    if (count > 0 && columns * num_values(axis) > most) break;
    columns *= num_values(axis);
    ++count;
  }
  return count;
}

// The choice's values along some axes, as one number; the innermost counts fastest.
std::size_t position(const Matrix& matrix, const std::vector<std::size_t>& axes,
                     const Choice& choice) {
  std::size_t place = 0;
  for (const std::size_t a : axes) place = place * num_values(matrix.axes[a]) + choice[a];
  return place;
}

std::size_t product(const Matrix& matrix, const std::vector<std::size_t>& axes) {
  std::size_t total = 1;
  for (const std::size_t a : axes) total *= num_values(matrix.axes[a]);
  return total;
}

}  // namespace

MatrixPicture picture_of(const Matrix& matrix) {
  constexpr std::size_t kMostRows = 64;
  MatrixPicture picture;
  for (const std::size_t most : {8, 16, 32}) {
    picture.across.clear();
    picture.down.clear();
    const std::size_t count = num_across(matrix, most);
    for (std::size_t a = 0; a < matrix.axes.size(); ++a)
      (a < count ? picture.across : picture.down).push_back(a);
    picture.columns = product(matrix, picture.across);
    picture.rows = product(matrix, picture.down);
    if (picture.rows <= kMostRows) break;
  }
  picture.cells.resize(picture.rows * picture.columns);
  for (std::size_t i = 0; i < matrix.choices.size(); ++i)
    picture.cells[position(matrix, picture.down, matrix.choices[i]) * picture.columns +
                  position(matrix, picture.across, matrix.choices[i])] = i;
  return picture;
}

std::size_t inner_span(const Matrix& matrix, const std::vector<std::size_t>& axes,
                       std::size_t level) {
  return product(matrix, {axes.begin() + static_cast<std::ptrdiff_t>(level) + 1, axes.end()});
}

std::string axis_title(const Axis& axis) {
  return axis.on.size() == 1 ? axis.on[0].label : axis.field->name;
}

std::string value_title(const Axis& axis, std::size_t value) {
  if (value == 0) return "off";
  return axis.on.size() == 1 ? "on" : axis.on[value - 1].value;
}

FailureKey::FailureKey(const JobResult& job) {
  for (const MinimalFinding& finding : job.minimal) add(job, finding.index);
  for (std::size_t i = 0; i < job.outcomes.size(); ++i) add(job, i);
  std::map<std::string, std::size_t> counts;
  for (const Outcome& outcome : job.outcomes) ++counts[fingerprint(outcome)];
  for (Entry& entry : entries_) entry.num_cells = counts[entry.fingerprint];
}

void FailureKey::add(const JobResult& job, std::size_t index) {
  const std::string print = fingerprint(job.outcomes[index]);
  const auto same = [&](const Entry& entry) { return entry.fingerprint == print; };
  if (print.empty() || std::any_of(entries_.begin(), entries_.end(), same)) return;
  const std::size_t number = entries_.size();
  std::string letter(1, static_cast<char>('A' + number % 26));
  if (number >= 26) letter += fmt::format("{}", number / 26 + 1);
  entries_.push_back({.letter = letter, .fingerprint = print, .example = index, .num_cells = 0});
}

std::string FailureKey::letter(const Outcome& outcome) const {
  const std::string print = fingerprint(outcome);
  for (const Entry& entry : entries_)
    if (entry.fingerprint == print) return entry.letter;
  return "";
}

std::size_t minimal_number(const JobResult& job, std::size_t index) {
  for (std::size_t m = 0; m < job.minimal.size(); ++m)
    if (job.minimal[m].index == index) return m + 1;
  return 0;
}

}  // namespace culprit
