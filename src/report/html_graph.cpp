// A slice of an autograd graph as SVG: time runs down, one lane a memory, so that handles on one
// memory stand below one another; nodes and where they send gradients stand on the right.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/graph_slice.hpp"
#include "report/html_report.hpp"
#include "report/markup.hpp"

namespace culprit {
namespace {

constexpr int kRow = 72;
constexpr int kTop = 40;
constexpr int kOpWidth = 118;
constexpr int kLane = 66;
constexpr int kLanesAt = kOpWidth + 46;

std::string text_at(int x, int y, const std::string& kind, const std::string& anchor,
                    const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\" text-anchor=\"{}\">{}</text>", x, y,
                     kind, anchor, xml_text(text));
}

class GraphDrawing {
 public:
  GraphDrawing(const GraphSlice& slice, std::string title) : slice_(slice), title_(std::move(title)) {
    for (std::size_t i = 0; i < slice.storages.size(); ++i)
      lanes_[slice.storages[i]] = kLanesAt + kLane / 2 + static_cast<int>(i) * kLane;
    for (const GraphRow& row : slice.rows)
      for (const TraceTensor& tensor : row.event->outputs)
        has_own_ |= tensor.storage >= 0 && !lanes_.contains(tensor.storage);
    nodes_at_ =
        kLanesAt + static_cast<int>(slice.storages.size() + (has_own_ ? 1 : 0)) * kLane + 22;
    for (std::size_t r = 0; r < slice.rows.size(); ++r)
      if (slice.rows[r].event->node >= 0) rows_of_nodes_[slice.rows[r].event->node] = r;
  }

  std::string svg() {
    draw_lanes();
    for (std::size_t r = 0; r < slice_.rows.size(); ++r) draw_row(r);
    const int width = nodes_at_ + 120,
              height = kTop + static_cast<int>(slice_.rows.size()) * kRow + 6;
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"{2}\">{3}</svg>",
        width, height, xml_text(title_), body_);
  }

 private:
  int own_lane() const {
    return kLanesAt + kLane / 2 + static_cast<int>(slice_.storages.size()) * kLane;
  }
  // Where a tensor stands; 0: a memory that only this row reads.
  int lane_of(const TraceTensor& tensor, bool is_output) const {
    const auto lane = lanes_.find(tensor.storage);
    if (lane != lanes_.end()) return lane->second;
    return is_output && tensor.storage >= 0 ? own_lane() : 0;
  }
  static int y_of(std::size_t row) { return kTop + static_cast<int>(row) * kRow + kRow / 2; }

  void draw_lanes() {
    std::map<int, std::pair<std::size_t, std::size_t>> used;  // first and last row of each storage
    for (std::size_t r = 0; r < slice_.rows.size(); ++r)
      for (const auto* list : {&slice_.rows[r].event->inputs, &slice_.rows[r].event->outputs})
        for (const TraceTensor& tensor : *list)
          if (lanes_.contains(tensor.storage))
            used.try_emplace(tensor.storage, r, r).first->second.second = r;
    std::size_t number = 0;
    for (const int storage : slice_.storages) {
      const auto& [from, to] = used.at(storage);
      const int x = lanes_.at(storage);
      body_ += fmt::format("<path class=\"lane\" d=\"M{} {}V{}\"/>", x, y_of(from),
                           y_of(to) + (from == to ? 1 : 0));
      body_ += text_at(x, 14, "dim", "middle", "memory") +
               text_at(x, 28, "dim", "middle", fmt::format("{}", ++number));
    }
    if (has_own_)
      body_ += text_at(own_lane(), 14, "dim", "middle", "other") +
               text_at(own_lane(), 28, "dim", "middle", "memory");
    body_ += text_at(nodes_at_, 14, "dim", "middle", "grad") +
             text_at(nodes_at_, 28, "dim", "middle", "node");
  }

  void draw_row(std::size_t r) {
    const GraphRow& row = slice_.rows[r];
    const TraceEvent& event = *row.event;
    const int y = y_of(r);
    if (row.skipped > 0 && r > 0)
      body_ += text_at(
          10, y - kRow / 2 + 7, "dim", "start",
          fmt::format("\u22ee {} operation{} between", row.skipped, row.skipped == 1 ? "" : "s"));
    const char* mark = row.raised != GraphRow::Raised::kNot ? " raised"
                       : row.is_defect                      ? " hot"
                                                            : "";
    body_ +=
        fmt::format("<rect class=\"op{}\" x=\"2\" y=\"{}\" width=\"{}\" height=\"34\" rx=\"7\"/>",
                    mark, y - 17, kOpWidth);
    body_ += text_at(10, y - 2, "", "start", event.name);
    body_ += text_at(
        10, y + 11, "dim", "start",
        row.raised == GraphRow::Raised::kNot
            ? fmt::format("{} {}", event.in_recompute ? "recompute" : event.pass, event.micro_batch)
            : row.error_kind);
    draw_flow(event, y);
    for (const TraceTensor& tensor : event.inputs) draw_input(event, tensor, y);
    for (std::size_t o = 0; o < event.outputs.size(); ++o)
      draw_output(event, o, row.output_differs[o], y);
    if (event.node >= 0) draw_node(row, r);
  }

  // From the operation's box across to its memories.
  void draw_flow(const TraceEvent& event, int y) {
    int right = 0;
    std::string others;
    for (const TraceTensor& tensor : event.inputs) {
      right = std::max(right, lane_of(tensor, false));
      if (lane_of(tensor, false) == 0 && tensor.object >= 0)
        others += (others.empty() ? "with " : ", ") + short_name(tensor);
    }
    for (const TraceTensor& tensor : event.outputs) right = std::max(right, lane_of(tensor, true));
    if (!others.empty()) body_ += text_at(10, y + 29, "dim", "start", others);
    if (right > 0)
      body_ += fmt::format("<path class=\"flow\" d=\"M{} {}H{}\"/>", kOpWidth + 2, y, right);
  }

  void draw_input(const TraceEvent& event, const TraceTensor& tensor, int y) {
    const int x = lane_of(tensor, false);
    // An output in the same lane stands in its place.
    const bool is_covered =
        std::any_of(event.outputs.begin(), event.outputs.end(),
                    [&](const TraceTensor& out) { return lane_of(out, true) == x; });
    if (x == 0 || is_covered) return;
    body_ += fmt::format(
        "<circle class=\"obj{}\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>{}</title></circle>",
        tensor.is_leaf ? " leaf" : "", x, y,
        xml_text(fmt::format("reads {}{}", tensor.name, tensor.is_leaf ? ", a leaf" : "")));
    body_ += text_at(x, y - 10, "dim", "middle", short_name(tensor));
  }

  void draw_output(const TraceEvent& event, std::size_t output, bool differs, int y) {
    const TraceTensor& tensor = event.outputs[output];
    const int x = lane_of(tensor, true);
    if (x == 0) return;
    const std::string name = short_name(tensor);
    const int width = std::max(30, 12 + 7 * static_cast<int>(name.size()));
    body_ += fmt::format(
        "<rect class=\"obj{}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"20\" "
        "rx=\"10\"><title>{}</title></rect>",
        tensor.is_leaf ? " leaf" : "", differs ? " hot" : "", x - width / 2, y - 10, width,
        xml_text(fmt::format("{} gives {}: {}; in-place version {}", event.name, tensor.name,
                             aliasing_in_words(event, output), tensor.version)));
    body_ += text_at(x, y + 4, differs ? "on-hot" : "", "middle", name);
    if (aliasing_in_words(event, output) == "new memory") return;
    const bool same_object = aliasing_in_words(event, output) == "the object passed in";
    body_ += text_at(x, y + 24, differs ? "hot" : "dim", "middle",
                     same_object ? "same object" : "same memory");
  }

  void draw_node(const GraphRow& row, std::size_t r) {
    const TraceEvent& event = *row.event;
    const int y = y_of(r);
    std::string elsewhere;
    for (std::size_t i = 0; i < event.input_nodes.size(); ++i) {
      const int target = event.input_nodes[i];
      const bool differs = i < row.twin_nodes.size() && row.twin_nodes[i] != target;
      const std::string name = i < event.inputs.size() ? short_name(event.inputs[i]) : "";
      if (const auto place = rows_of_nodes_.find(target);
          target >= 0 && place != rows_of_nodes_.end() && place->second < r) {
        const int to = y_of(place->second), bulge = 26 + 15 * static_cast<int>(r - place->second);
        body_ += fmt::format(
            "<path class=\"edge{4}\" d=\"M{0} {1}C{2} {1} {2} {3} {5} {3}\"/><path "
            "class=\"arrow{4}\" d=\"M{0} {3}l9 -5v10z\"/>",
            nodes_at_ + 11, y - (differs ? 5 : 0), nodes_at_ + bulge, to, differs ? " hot" : "",
            nodes_at_ + 18);
      } else if (target != -1) {
        elsewhere += fmt::format("{}{}", elsewhere.empty() ? "\u2192 " : ", ",
                                 target == -2 ? name : fmt::format("n{}", target));
      }
    }
    body_ += fmt::format("<circle class=\"node\" cx=\"{}\" cy=\"{}\" r=\"12\"/>", nodes_at_, y);
    body_ += text_at(nodes_at_, y + 4, "on-node", "middle", fmt::format("n{}", event.node));
    if (!elsewhere.empty()) body_ += text_at(nodes_at_ + 10, y + 26, "dim", "end", elsewhere);
  }

  const GraphSlice& slice_;
  std::string title_;
  std::map<int, int> lanes_;  // storage to x
  std::map<int, std::size_t> rows_of_nodes_;
  bool has_own_ = false;  // some row makes a memory that no other row touches
  int nodes_at_ = 0;
  std::string body_;
};

std::string side(const GraphSlice& slice, const Outcome& outcome, const std::string& label) {
  if (slice.rows.empty()) return "";
  return fmt::format(
      "<figure class=\"graph {}\"><figcaption class=\"tl-title\">{}<span class=\"small\">{}, stage "
      "{}, rank {}</span></figcaption>\n<div class=\"scroll\">{}</div></figure>\n",
      html_class(outcome), html_badge(outcome), xml_text(label), slice.stage, slice.tp_rank,
      GraphDrawing(slice, "autograd graph: " + label).svg());
}

}  // namespace

std::string html_graph(const JobResult& job, const MinimalFinding& finding) {
  const auto slices = slice_around_defect(job, finding);
  if (!slices) return "";
  std::string words;
  for (const std::string& line : slice_in_words(slices->first))
    words += "<li>" + xml_text(line) + "</li>";
  if (!words.empty()) words = "<ul class=\"small\">" + words + "</ul>\n";
  std::string twin;
  if (finding.passing_neighbour)
    twin = side(slices->second, job.outcomes[*finding.passing_neighbour],
                label_of(job.matrix, job.matrix.choices[*finding.passing_neighbour]));
  return fmt::format("{}<div class=\"twins\">\n{}{}</div>\n", words,
                     side(slices->first, job.outcomes[finding.index],
                          label_of(job.matrix, job.matrix.choices[finding.index])),
                     twin);
}

}  // namespace culprit
