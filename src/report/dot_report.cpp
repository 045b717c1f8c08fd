#include "report/dot_report.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "report/graph_slice.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : escape_controls(text))
    result += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "\"";
}

std::string slice_dot(const GraphSlice& slice, const std::string& id, const std::string& title) {
  std::map<int, std::map<int, std::string>> objects;  // storage, object, name
  for (const GraphRow& row : slice.rows)
    for (const auto* list : {&row.event->inputs, &row.event->outputs})
      for (const TraceTensor& tensor : *list)
        if (tensor.object >= 0)
          objects[tensor.storage][tensor.object] =
              short_name(tensor) + (tensor.is_leaf ? "\nleaf" : "");
  std::string text = fmt::format("  subgraph cluster_{} {{\n    label={};\n", id, quoted(title));
  for (const auto& [storage, list] : objects) {
    text += fmt::format("    subgraph cluster_{}_m{} {{ label={}; style=dashed;", id,
                        storage < 0 ? "x" : fmt::format("{}", storage),
                        quoted(storage < 0 ? "released" : fmt::format("memory {}", storage)));
    for (const auto& [object, name] : list)
      text += fmt::format(" {}_o{} [label={}];", id, object, quoted(name));
    text += " }\n";
  }
  std::set<int> nodes;
  for (std::size_t r = 0; r < slice.rows.size(); ++r) {
    const GraphRow& row = slice.rows[r];
    const TraceEvent& event = *row.event;
    text +=
        fmt::format("    {}_e{} [shape=box, label={}{}];\n", id, r,
                    quoted(event.name + (event.node >= 0 ? fmt::format("\nn{}", event.node) : "") +
                           (row.error_kind.empty() ? "" : "\n" + row.error_kind)),
                    row.is_defect ? ", penwidth=3" : "");
    for (const TraceTensor& tensor : event.inputs)
      if (tensor.object >= 0)
        text += fmt::format("    {0}_o{1} -> {0}_e{2};\n", id, tensor.object, r);
    for (std::size_t o = 0; o < event.outputs.size(); ++o)
      if (event.outputs[o].object >= 0)
        text += fmt::format("    {0}_e{1} -> {0}_o{2}{3};\n", id, r, event.outputs[o].object,
                            row.output_differs[o] ? " [penwidth=3]" : "");
    for (std::size_t i = 0; i < event.input_nodes.size(); ++i) {
      const int target = event.input_nodes[i];
      if (target < 0) continue;
      std::string to = fmt::format("{}_n{}", id, target);
      for (std::size_t other = 0; other < slice.rows.size(); ++other)
        if (slice.rows[other].event->node == target) to = fmt::format("{}_e{}", id, other);
      if (to.starts_with(id + "_n") && nodes.insert(target).second)
        text += fmt::format("    {} [shape=plaintext, label={}];\n", to,
                            quoted(fmt::format("n{}", target)));
      const bool differs = i < row.twin_nodes.size() && row.twin_nodes[i] != target;
      text += fmt::format("    {}_e{} -> {} [style={}, constraint=false];\n", id, r, to,
                          differs ? "\"dashed,bold\", penwidth=3" : "dashed");
    }
  }
  return text + "  }\n";
}

}  // namespace

std::string dot_report(const RunRecord& record) {
  std::string text = fmt::format(
      "// {}: solid arrows are data, dashed ones gradients; bold: differs from the passing "
      "run.\ndigraph culprit {{\n  rankdir=TB; node [fontname=\"sans-serif\"];\n",
      escape_controls(record.scenario->name));
  int number = 0;
  for (const JobResult& job : record.jobs)
    for (const MinimalFinding& finding : job.minimal) {
      const auto slices = slice_around_defect(job, finding);
      if (!slices) continue;
      ++number;
      text += slice_dot(slices->first, fmt::format("f{}", number),
                        fmt::format("{}: {}", verdict_word(job.outcomes[finding.index]),
                                    minimal_label(job, finding)));
      if (!slices->second.rows.empty())
        text += slice_dot(
            slices->second, fmt::format("p{}", number),
            "PASS: " + label_of(job.matrix, job.matrix.choices[*finding.passing_neighbour]));
    }
  return text + "}\n";
}

}  // namespace culprit
