#include <fmt/format.h>

#include "report/html_report.hpp"
#include "report/markup.hpp"
#include "report/matrix_picture.hpp"
#include "report/wording.hpp"

namespace culprit {
namespace {

std::string icon(const Outcome& outcome) {
  return fmt::format("<svg class=\"ic\" aria-hidden=\"true\"><use href=\"#i-{}\"/></svg>",
                     html_class(outcome));
}

std::string cell_html(const JobResult& job, const FailureKey& key, std::size_t number,
                      std::size_t index, bool is_first) {
  const Outcome& outcome = job.outcomes[index];
  const std::size_t minimal = minimal_number(job, index);
  const std::string letter = key.letter(outcome);
  std::string text = fmt::format(
      "<button type=\"button\" class=\"c {}{}\" data-cell=\"{}.{}\" tabindex=\"{}\" "
      "aria-label=\"{}\">{}",
      html_class(outcome), minimal ? " minimal" : "", number, index, is_first ? 0 : -1,
      xml_text(fmt::format("{}{}: {}", label_of(job.matrix, job.matrix.choices[index]),
                           minimal ? fmt::format(" (minimal combination {})", minimal) : "",
                           outcome_in_words(outcome))),
      icon(outcome));
  if (!letter.empty()) text += fmt::format("<b>{}</b>", letter);
  if (minimal) text += fmt::format("<u>{}</u>", minimal);
  return text + "</button>";
}

// Titles of the innermost values stand upright when they are longer than a cell.
bool stands_upright(const Axis& axis) {
  for (std::size_t value = 0; value <= axis.on.size(); ++value)
    if (value_title(axis, value).size() > 4) return true;
  return false;
}

std::string head_html(const Matrix& matrix, const MatrixPicture& picture) {
  const std::size_t num_down = std::max<std::size_t>(1, picture.down.size());
  std::string text = "<thead>\n";
  for (std::size_t level = 0; level < picture.across.size(); ++level) {
    const Axis& axis = matrix.axes[picture.across[level]];
    const std::size_t span = inner_span(matrix, picture.across, level);
    const bool upright = span == 1 && stands_upright(axis);
    text += fmt::format("<tr><th class=\"axis\" colspan=\"{}\" scope=\"row\">{}</th>", num_down,
                        xml_text(axis_title(axis)));
    for (std::size_t c = 0; c < picture.columns; c += span)
      text += fmt::format("<th class=\"val{}\" colspan=\"{}\" scope=\"{}\"><span>{}</span></th>",
                          upright ? " v" : "", span, span == 1 ? "col" : "colgroup",
                          xml_text(value_title(axis, c / span % (axis.on.size() + 1))));
    text += "</tr>\n";
  }
  if (!picture.down.empty()) {
    text += "<tr>";
    for (const std::size_t a : picture.down)
      text += fmt::format("<th class=\"axis v\" scope=\"col\"><span>{}</span></th>",
                          xml_text(axis_title(matrix.axes[a])));
    text += fmt::format("<td colspan=\"{}\"></td></tr>\n", picture.columns);
  }
  return text + "</thead>\n";
}

std::string table_html(const JobResult& job, const FailureKey& key, std::size_t number) {
  const Matrix& matrix = job.matrix;
  const MatrixPicture picture = picture_of(matrix);
  std::string text = fmt::format(
      "<table class=\"matrix{}\" aria-label=\"Outcome of every combination of "
      "switches\">\n{}<tbody>\n",
      picture.cells.size() > 400 ? " small-cells" : "", head_html(matrix, picture));
  bool is_first = true;
  for (std::size_t r = 0; r < picture.rows; ++r) {
    text += "<tr>";
    for (std::size_t level = 0; level < picture.down.size(); ++level) {
      const Axis& axis = matrix.axes[picture.down[level]];
      const std::size_t span = inner_span(matrix, picture.down, level);
      if (r % span == 0)
        text +=
            fmt::format("<th scope=\"{}\" rowspan=\"{}\">{}</th>", span == 1 ? "row" : "rowgroup",
                        span, xml_text(value_title(axis, r / span % (axis.on.size() + 1))));
    }
    if (picture.down.empty()) text += "<th></th>";
    for (std::size_t c = 0; c < picture.columns; ++c) {
      const auto index = picture.at(r, c);
      text += index ? "<td>" + cell_html(job, key, number, *index, is_first) + "</td>"
                    : "<td><div class=\"none\" title=\"impossible\"></div></td>";
      is_first &= !index;
    }
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n";
}

std::string legend_html(const JobResult& job, const FailureKey& key) {
  std::size_t passes = 0;
  for (const Outcome& outcome : job.outcomes)
    passes += outcome.outcome == OutcomeClass::kPass ? 1 : 0;
  Outcome pass;
  std::string text = fmt::format(
      "<ul class=\"legend\">\n<li><span class=\"swatch pass\">{}</span>passes ({})</li>\n",
      icon(pass), passes);
  for (const FailureKey::Entry& entry : key.entries()) {
    const Outcome& example = job.outcomes[entry.example];
    text += fmt::format("<li><span class=\"swatch {}\">{}</span><span>{} {} ({})</span></li>\n",
                        html_class(example), icon(example), entry.letter,
                        xml_text(entry.fingerprint), entry.num_cells);
  }
  if (!job.minimal.empty())
    text += "<li><span class=\"swatch minimal\">1</span>minimal combination</li>\n";
  if (picture_of(job.matrix).cells.size() > job.matrix.choices.size())
    text += "<li><span class=\"swatch none\"></span>can't be run</li>\n";
  return text + "</ul>\n";
}

}  // namespace

std::string html_class(const Outcome& outcome) {
  const std::string word = verdict_word(outcome);
  return word == "PASS" ? "pass" : word == "FAILS" ? "fails" : "silent";
}

std::string html_badge(const Outcome& outcome) {
  return fmt::format("<span class=\"badge {}\">{}{}</span>", html_class(outcome), icon(outcome),
                     verdict_word(outcome));
}

std::string html_matrix(const RunRecord& record, std::size_t number) {
  const JobResult& job = record.jobs[number];
  const FailureKey key(job);
  return fmt::format(
      "<div class=\"matrix-area\">\n<div class=\"card\">\n<div class=\"scroll "
      "matrix-scroll\">\n{}</div>\n{}</div>\n"
      "<div class=\"card panel\" id=\"evidence-{}\" role=\"region\" aria-label=\"Evidence of the "
      "chosen cell\" aria-live=\"polite\" tabindex=\"-1\">"
      "<noscript><p>The evidence of a cell needs JavaScript; report.json holds it "
      "too.</p></noscript></div>\n</div>\n",
      table_html(job, key, number), legend_html(job, key), number);
}

}  // namespace culprit
