#include "report/svg_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/markup.hpp"
#include "report/matrix_picture.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

constexpr int kCell = 34;
constexpr int kGap = 2;
constexpr int kMargin = 16;
constexpr int kLine = 18;
constexpr int kFont = 12;

// A rough width: no font is at hand to measure with.
int text_width(const std::string& text) { return display_width(text) * kFont * 62 / 100; }

std::string text_at(int x, int y, const std::string& text, const std::string& more = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, more.empty() ? "" : " " + more,
                     xml_text(text));
}

// Symbols are drawn, so that no font decides what they look like.
std::string symbol_at(const Outcome& outcome, int x, int y, int size) {
  const int a = size / 4, b = size - a, mid = size / 2;
  const std::string verdict = verdict_word(outcome);
  std::string path;
  if (verdict == "PASS")
    path =
        fmt::format("M{} {}L{} {}L{} {}", a, mid, mid - size / 12, b - size / 12, b, a + size / 12);
  else if (verdict == "FAILS")
    path = fmt::format("M{0} {0}L{1} {1}M{1} {0}L{0} {1}", a, b);
  else  // "not equal": a wrong number that raises nothing
    path = fmt::format("M{0} {2}H{1}M{0} {3}H{1}M{4} {1}L{5} {0}", a, b, mid - size / 8,
                       mid + size / 8, a + size / 12, b - size / 12);
  const char* ink = verdict == "PASS" ? "#1a7f4b" : "#ffffff";
  return fmt::format(
      "<path transform=\"translate({} {})\" d=\"{}\" fill=\"none\" stroke=\"{}\" "
      "stroke-width=\"2.4\" "
      "stroke-linecap=\"round\" stroke-linejoin=\"round\"/>\n",
      x, y, path, ink);
}

const char* fill_of(const Outcome& outcome) {
  const std::string verdict = verdict_word(outcome);
  return verdict == "PASS" ? "#dff3e6" : verdict == "FAILS" ? "#b42318" : "#6f3cc4";
}

std::string cell_at(const JobResult& job, const FailureKey& key, std::size_t index, int x, int y) {
  const Outcome& outcome = job.outcomes[index];
  std::string text = fmt::format(
      "<g><title>{}: {}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" "
      "fill=\"{}\"/>\n",
      xml_text(label_of(job.matrix, job.matrix.choices[index])),
      xml_text(outcome_in_words(outcome)), x, y, kCell, kCell, fill_of(outcome));
  const std::string letter = key.letter(outcome);
  text +=
      symbol_at(outcome, x + (letter.empty() ? 6 : 2), y + (letter.empty() ? 6 : 2), kCell - 12);
  if (!letter.empty())
    text += text_at(x + kCell - 4, y + kCell - 5, letter,
                    "text-anchor=\"end\" font-weight=\"700\" fill=\"#ffffff\"");
  if (const std::size_t number = minimal_number(job, index); number > 0) {
    text += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"none\" "
        "stroke=\"#111111\" stroke-width=\"3\"/>\n",
        x + 1, y + 1, kCell - 2, kCell - 2);
    text +=
        fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"8\" fill=\"#111111\"/>", x + kCell - 2, y + 2);
    text += text_at(x + kCell - 2, y + 6, fmt::format("{}", number),
                    "text-anchor=\"middle\" font-size=\"11\" font-weight=\"700\" fill=\"#ffffff\"");
  }
  return text + "</g>\n";
}

struct MatrixDrawing {
  std::string body;
  int width = 0;
  int height = 0;
};

int column_width(const Axis& axis) {
  int width = text_width(axis_title(axis));
  for (std::size_t value = 0; value <= axis.on.size(); ++value)
    width = std::max(width, text_width(value_title(axis, value)));
  return width + 14;
}

// A header of nested values: one line a level across, one column a level down.
MatrixDrawing draw_job(const JobResult& job, int top) {
  const MatrixPicture picture = picture_of(job.matrix);
  const FailureKey key(job);
  const Matrix& matrix = job.matrix;
  MatrixDrawing drawing;
  int y = top;
  if (!job.title.empty()) {
    drawing.body += text_at(kMargin, y + 13, job.title, "font-weight=\"700\"");
    drawing.width = kMargin * 2 + text_width(job.title);
    y += kLine + 6;
  }
  int left = kMargin, title_width = 0;
  for (const std::size_t a : picture.down) left += column_width(matrix.axes[a]);
  for (const std::size_t a : picture.across)
    title_width = std::max(title_width, text_width(axis_title(matrix.axes[a])) + 14);
  left = std::max(left, kMargin + title_width);
  const int step = kCell + kGap;
  for (std::size_t level = 0; level < picture.across.size(); ++level) {
    const Axis& axis = matrix.axes[picture.across[level]];
    drawing.body +=
        text_at(left - 8, y + 13, axis_title(axis), "text-anchor=\"end\" font-weight=\"700\"");
    const std::size_t span = inner_span(matrix, picture.across, level);
    for (std::size_t c = 0; c < picture.columns; c += span) {
      const std::string title = value_title(axis, c / span % (axis.on.size() + 1));
      const int width = static_cast<int>(span) * step - kGap;
      const int x = left + static_cast<int>(c) * step;
      const bool fits = text_width(title) <= width;
      drawing.body += text_at(
          x + width / 2, y + 13, title,
          fits ? "text-anchor=\"middle\""
               : fmt::format(
                     "text-anchor=\"middle\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"",
                     width));
      if (level + 1 < picture.across.size())
        drawing.body += fmt::format("<path d=\"M{} {}h{}\" stroke=\"#8a8a8a\"/>\n", x + 1,
                                    y + kLine, width - 2);
    }
    y += kLine + 3;
  }
  int x = kMargin;
  for (std::size_t level = 0; level < picture.down.size(); ++level) {
    const Axis& axis = matrix.axes[picture.down[level]];
    drawing.body += text_at(x, y + 13, axis_title(axis), "font-weight=\"700\"");
    const std::size_t span = inner_span(matrix, picture.down, level);
    for (std::size_t r = 0; r < picture.rows; r += span)
      drawing.body += text_at(
          x, y + kLine + 6 + static_cast<int>(r) * step + (static_cast<int>(span) * step) / 2 + 4,
          value_title(axis, r / span % (axis.on.size() + 1)));
    x += column_width(axis);
  }
  y += kLine + 6;
  for (std::size_t r = 0; r < picture.rows; ++r)
    for (std::size_t c = 0; c < picture.columns; ++c) {
      const int cell_x = left + static_cast<int>(c) * step, cell_y = y + static_cast<int>(r) * step;
      if (const auto index = picture.at(r, c))
        drawing.body += cell_at(job, key, *index, cell_x, cell_y);
      else
        drawing.body += fmt::format(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"none\" "
            "stroke=\"#b5b5b5\" stroke-dasharray=\"3 3\"/>\n",
            cell_x, cell_y, kCell, kCell);
    }
  drawing.width =
      std::max(drawing.width, left + static_cast<int>(picture.columns) * step + kMargin);
  y += static_cast<int>(picture.rows) * step + 12;
  for (const FailureKey::Entry& entry : key.entries()) {
    const std::string words = fmt::format("{}  {} ({} cell{})", entry.letter, entry.fingerprint,
                                          entry.num_cells, entry.num_cells == 1 ? "" : "s");
    drawing.body += text_at(kMargin, y + 13, words);
    drawing.width = std::max(drawing.width, kMargin * 2 + text_width(words));
    y += kLine;
  }
  drawing.height = y - top;
  return drawing;
}

std::string legend(int y) {
  Outcome pass, fails, silent;
  fails.outcome = OutcomeClass::kError;
  silent.outcome = OutcomeClass::kWrongGrad;
  std::string text;
  int x = kMargin;
  const std::pair<const Outcome*, const char*> rows[] = {
      {&pass, "passes"}, {&fails, "fails"}, {&silent, "silent"}};
  for (const auto& [outcome, words] : rows) {
    text +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"18\" height=\"18\" rx=\"4\" fill=\"{}\"/>\n",
                    x, y, fill_of(*outcome));
    text += symbol_at(*outcome, x, y, 18) + text_at(x + 24, y + 13, words);
    x += 40 + text_width(words);
  }
  text += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"16\" rx=\"4\" fill=\"none\" "
      "stroke=\"#111111\" stroke-width=\"3\"/>\n",
      x + 1, y + 1);
  return text + text_at(x + 24, y + 13, "minimal");
}

}  // namespace

std::string svg_report(const RunRecord& record) {
  std::string body;
  int width = 340, height = kMargin;
  body +=
      text_at(kMargin, height + 13, record.scenario->title, "font-weight=\"700\" font-size=\"14\"");
  width = std::max(width, kMargin * 2 + text_width(record.scenario->title) * 14 / kFont);
  height += 24;
  body += text_at(kMargin, height + 13, layout_in_words(record, record.jobs.front()),
                  "fill=\"#555555\"");
  height += 26;
  for (const JobResult& job : record.jobs) {
    const MatrixDrawing drawing = draw_job(job, height);
    body += drawing.body;
    width = std::max(width, drawing.width);
    height += drawing.height + 18;
  }
  body += legend(height);
  height += 18 + kMargin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" "
      "font-family=\"system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\" font-size=\"{2}\" "
      "fill=\"#1b1b1b\">\n<title>{3}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{4}</svg>\n",
      width, height, kFont, xml_text(record.scenario->title), body);
}

}  // namespace culprit
