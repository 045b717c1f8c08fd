#include "report/graph_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace culprit {
namespace {

using EventKind = TraceEvent::Kind;

bool is_operation(const TraceEvent& event) {
  return event.kind == EventKind::kOperator || event.kind == EventKind::kCustomFunction;
}

std::vector<const TraceEvent*> operations_of(const RankTrace& rank) {
  std::vector<const TraceEvent*> list;
  for (const TraceEvent& event : rank.events)
    if (is_operation(event)) list.push_back(&event);
  return list;
}

enum class Aliasing { kSameObject, kSameImpl, kSameStorage, kFresh };

Aliasing aliasing_of(const TraceEvent& event, std::size_t output) {
  const TraceTensor& out = event.outputs[output];
  Aliasing closest = Aliasing::kFresh;
  for (const TraceTensor& in : event.inputs) {
    if (in.object < 0 || out.object < 0) continue;
    Aliasing relation = Aliasing::kFresh;
    if (in.object == out.object)
      relation = Aliasing::kSameObject;
    else if (in.impl == out.impl && in.impl >= 0)
      relation = Aliasing::kSameImpl;
    else if (in.storage == out.storage && in.storage >= 0)
      relation = Aliasing::kSameStorage;
    closest = std::min(closest, relation);
  }
  return closest;
}

bool rebased(const TraceEvent& event, std::size_t output) {
  return output < event.rebased.size() && event.rebased[output];
}

// Whether an output is another kind of thing than the twin's.
bool differs(const TraceEvent& event, const TraceEvent& twin, std::size_t output) {
  if (output >= twin.outputs.size()) return true;
  return aliasing_of(event, output) != aliasing_of(twin, output) ||
         rebased(event, output) != rebased(twin, output);
}

bool same_call(const TraceEvent& event, const TraceEvent& twin) {
  return event.name == twin.name && event.kind == twin.kind && event.pass == twin.pass &&
         event.micro_batch == twin.micro_batch && event.outputs.size() == twin.outputs.size() &&
         event.inputs.size() == twin.inputs.size();
}

// Which operation of `two` does what each of `one` does, -1: none; by the longest common run of
// calls. Long traces are compared in their beginning only: that is where a defect shows first.
std::vector<int> aligned(const std::vector<const TraceEvent*>& one,
                         const std::vector<const TraceEvent*>& two) {
  constexpr std::size_t kMostCompared = 800;
  const std::size_t rows = std::min(one.size(), kMostCompared),
                    columns = std::min(two.size(), kMostCompared);
  std::vector<std::vector<int>> longest(rows + 1, std::vector<int>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0;)
    for (std::size_t j = columns; j-- > 0;)
      longest[i][j] = same_call(*one[i], *two[j]) ? longest[i + 1][j + 1] + 1
                                                  : std::max(longest[i + 1][j], longest[i][j + 1]);
  std::vector<int> twin(one.size(), -1);
  for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
    if (same_call(*one[i], *two[j]))
      twin[i++] = static_cast<int>(j++);
    else if (longest[i + 1][j] >= longest[i][j + 1])
      ++i;
    else
      ++j;
  }
  return twin;
}

// Two streams of operations, laid beside each other.
class Pairing {
 public:
  Pairing(const std::vector<const TraceEvent*>& one, const std::vector<const TraceEvent*>& two)
      : one_(one), two_(two), twin_(aligned(one, two)) {
    for (std::size_t i = 0; i < one.size(); ++i)
      if (twin_[i] >= 0 && one[i]->node >= 0 && two[static_cast<std::size_t>(twin_[i])]->node >= 0)
        own_node_[two[static_cast<std::size_t>(twin_[i])]->node] = one[i]->node;
  }
  const TraceEvent* twin_of(std::size_t i) const {
    return twin_[i] < 0 ? nullptr : two_[static_cast<std::size_t>(twin_[i])];
  }
  std::vector<int> twin_nodes(std::size_t i) const {
    const TraceEvent* twin = twin_of(i);
    if (!twin) return one_[i]->input_nodes;
    std::vector<int> nodes;
    for (const int node : twin->input_nodes) {
      const auto own = own_node_.find(node);
      nodes.push_back(node < 0 ? node : own == own_node_.end() ? kOtherNode : own->second);
    }
    return nodes;
  }
  bool differs_at(std::size_t i) const {
    const TraceEvent* twin = twin_of(i);
    if (!twin) return true;
    for (std::size_t o = 0; o < one_[i]->outputs.size(); ++o)
      if (differs(*one_[i], *twin, o)) return true;
    return one_[i]->input_nodes != twin_nodes(i);
  }
  // The first of `one` that does something else; the last one if none does.
  std::size_t first_difference() const {
    for (std::size_t i = 0; i < one_.size(); ++i)
      if (differs_at(i)) return i;
    return one_.size() - 1;
  }
  // The place in `two` that is across from i: its twin's, or that behind the last twin before it.
  std::size_t across(std::size_t i) const {
    for (std::size_t k = i + 1; k-- > 0;)
      if (twin_[k] >= 0)
        return std::min(two_.size() - 1, static_cast<std::size_t>(twin_[k]) + (k == i ? 0 : 1));
    return 0;
  }

 private:
  const std::vector<const TraceEvent*>& one_;
  const std::vector<const TraceEvent*>& two_;
  std::vector<int> twin_;
  std::map<int, int> own_node_;  // of a node of `two`
};

std::set<int> storages_of(const TraceEvent& event) {
  std::set<int> storages;
  for (const auto* list : {&event.inputs, &event.outputs})
    for (const TraceTensor& tensor : *list)
      if (tensor.storage >= 0) storages.insert(tensor.storage);
  return storages;
}

bool touches(const TraceEvent& event, const std::set<int>& storages) {
  const std::set<int> own = storages_of(event);
  return std::any_of(own.begin(), own.end(),
                     [&](int storage) { return storages.contains(storage); });
}

// Of the operations that touch the defect's memory: the first, the last ones before the defect and
// the next ones.
std::vector<std::size_t> chosen_rows(const std::vector<const TraceEvent*>& operations,
                                     std::size_t defect) {
  constexpr std::size_t kBefore = 2, kAfter = 4;
  const std::set<int> storages = storages_of(*operations[defect]);
  std::vector<std::size_t> before, rows;
  for (std::size_t i = 0; i < defect; ++i)
    if (touches(*operations[i], storages)) before.push_back(i);
  if (before.size() > kBefore + 1) before.erase(before.begin() + 1, before.end() - kBefore);
  rows = before;
  rows.push_back(defect);
  std::size_t after = 0;
  for (std::size_t i = defect + 1; i < operations.size() && after < kAfter; ++i) {
    const bool same_pass = operations[i]->pass == operations[defect]->pass &&
                           operations[i]->micro_batch == operations[defect]->micro_batch;
    if (!same_pass) break;
    if (!touches(*operations[i], storages)) continue;
    rows.push_back(i);
    ++after;
  }
  return rows;
}

// Storages that several rows or the defect touch.
std::vector<int> lanes_of(const std::vector<GraphRow>& rows) {
  std::map<int, std::size_t> counts;
  std::vector<int> order;
  for (const GraphRow& row : rows)
    for (const int storage : storages_of(*row.event)) {
      if (counts[storage] == 0) order.push_back(storage);
      counts[storage] += row.is_defect ? 2 : 1;
    }
  std::erase_if(order, [&](int storage) { return counts[storage] < 2; });
  return order;
}

// Where a rank ended.
struct End {
  std::size_t operation = 0;
  GraphRow::Raised how = GraphRow::Raised::kNot;
};

// The operation whose node was to run next when the backward ended: the first input of a node that
// has run which has not run itself, the latest such node first.
std::optional<std::size_t> next_in_backward(const RankTrace& rank,
                                            const std::vector<const TraceEvent*>& operations) {
  std::set<int> has_run;
  for (const TraceEvent& event : rank.events)
    if (event.kind == EventKind::kNodeBackward) has_run.insert(event.node);
  const auto made_by = [&](int node) {
    return std::find_if(operations.rbegin(), operations.rend(),
                        [&](const TraceEvent* event) { return event->node == node; });
  };
  for (auto event = rank.events.rbegin(); event != rank.events.rend(); ++event) {
    if (event->kind != EventKind::kNodeBackward) continue;
    const auto made = made_by(event->node);
    if (made == operations.rend()) continue;
    for (const int node : (*made)->input_nodes) {
      if (node < 0 || has_run.contains(node)) continue;
      const auto next = made_by(node);
      if (next != operations.rend()) return static_cast<std::size_t>(operations.rend() - next) - 1;
    }
  }
  return std::nullopt;
}

End end_of(const RankTrace& rank, const std::vector<const TraceEvent*>& operations) {
  const std::size_t last = operations.size() - 1;
  if (rank.error_kind.empty() || rank.error_kind == "PEER_LOST")
    return {last, GraphRow::Raised::kNot};
  const auto before =
      std::find_if(rank.events.rbegin(), rank.events.rend(),
                   [](const TraceEvent& event) { return event.kind != EventKind::kRaised; });
  if (before != rank.events.rend() && is_operation(*before))
    return {last, GraphRow::Raised::kInCall};
  if (before != rank.events.rend() && before->kind != EventKind::kReceive && before->pass == "backward")
    if (const auto next = next_in_backward(rank, operations))
      return {*next, GraphRow::Raised::kInBackward};
  return {last, GraphRow::Raised::kAfter};
}

GraphSlice make_slice(const RankTrace& rank, const std::vector<const TraceEvent*>& operations,
                      std::size_t defect, const Pairing& pairing) {
  GraphSlice slice{.stage = rank.stage, .tp_rank = rank.tp_rank, .rows = {}, .storages = {}};
  std::size_t next = 0;
  for (const std::size_t i : chosen_rows(operations, defect)) {
    GraphRow& row = slice.rows.emplace_back();
    row.event = operations[i];
    row.skipped = i - next;
    next = i + 1;
    row.is_defect = i == defect;
    if (const End end = end_of(rank, operations);
        end.how != GraphRow::Raised::kNot && i == end.operation) {
      row.raised = end.how;
      row.error_kind = rank.error_kind;
    }
    const TraceEvent* twin = pairing.twin_of(i);
    for (std::size_t o = 0; o < operations[i]->outputs.size(); ++o)
      row.output_differs.push_back(twin && differs(*operations[i], *twin, o));
    row.twin_nodes = pairing.twin_nodes(i);
  }
  slice.storages = lanes_of(slice.rows);
  return slice;
}

// The rank where the finding was first seen; of another layout the first rank of the same tensor
// rank.
const RankTrace* rank_at(const CellTrace& trace, int stage, int tp_rank) {
  const RankTrace* found = nullptr;
  for (const RankTrace& rank : trace.ranks) {
    if (rank.tp_rank != tp_rank) continue;
    if (rank.stage == stage) return &rank;
    if (!found) found = &rank;
  }
  return found;
}

}  // namespace

std::optional<std::pair<GraphSlice, GraphSlice>> slice_around_defect(
    const JobResult& job, const MinimalFinding& finding) {
  const auto& first = job.outcomes[finding.index].first;
  const int stage = first ? first->stage : 0;
  const int tp_rank = first && !first->ranks.empty() ? std::stoi(first->ranks) : 0;
  const RankTrace* rank = rank_at(finding.trace, stage, tp_rank);
  if (!rank) return std::nullopt;
  const auto operations = operations_of(*rank);
  if (operations.empty()) return std::nullopt;
  const RankTrace* twin_rank = rank_at(finding.neighbour_trace, stage, tp_rank);
  const auto twin = twin_rank ? operations_of(*twin_rank) : std::vector<const TraceEvent*>{};
  const Pairing pairing(operations, twin);
  // An error is where the rank ended; a wrong number begins where the two runs part.
  const End end = end_of(*rank, operations);
  const std::size_t defect =
      end.how != GraphRow::Raised::kNot ? end.operation : pairing.first_difference();
  GraphSlice failing = make_slice(*rank, operations, defect, pairing);
  if (twin.empty()) return std::pair{std::move(failing), GraphSlice{}};
  return std::pair{std::move(failing),
                   make_slice(*twin_rank, twin, pairing.across(defect), Pairing(twin, operations))};
}

std::string aliasing_in_words(const TraceEvent& event, std::size_t output) {
  switch (aliasing_of(event, output)) {
    case Aliasing::kSameObject:
      return "the object passed in";
    case Aliasing::kSameImpl:
      return "a new object on the same impl";
    case Aliasing::kSameStorage:
      return "a new handle on the same memory";
    case Aliasing::kFresh:
      return "new memory";
  }
  return "";
}

std::string short_name(const TraceTensor& tensor) {
  constexpr std::string_view kGenerated = "generated_tensor_";
  return tensor.name.starts_with(kGenerated) ? "t" + tensor.name.substr(kGenerated.size())
                                             : tensor.name;
}

std::vector<std::string> slice_in_words(const GraphSlice& failing) {
  std::vector<std::string> lines;
  const auto node_name = [](int node) {
    return node >= 0    ? fmt::format("n{}", node)
           : node == -2 ? std::string("its own gradient")
           : node == -1 ? std::string("nowhere")
                        : std::string("another node");
  };
  for (const GraphRow& row : failing.rows) {
    const TraceEvent& event = *row.event;
    for (std::size_t o = 0; o < event.outputs.size(); ++o) {
      if (!row.output_differs[o] && row.raised != GraphRow::Raised::kInCall) continue;
      std::string line = fmt::format("{} gives back {} ({})", event.name,
                                     aliasing_in_words(event, o), short_name(event.outputs[o]));
      if (rebased(event, o))
        line += fmt::format("; its history now begins at n{}, for every later use", event.node);
      if (row.raised == GraphRow::Raised::kInCall)
        line += fmt::format("{}; {} is raised", event.outputs[o].is_leaf ? ", a leaf" : "",
                            row.error_kind);
      lines.push_back(line);
    }
    if (row.raised == GraphRow::Raised::kInBackward)
      lines.push_back(fmt::format("the backward of {} (n{}) raises {}", event.name, event.node,
                                  row.error_kind));
    if (row.raised == GraphRow::Raised::kAfter)
      lines.push_back(fmt::format("{} is raised after {}", row.error_kind, event.name));
    for (std::size_t i = 0;
         i < event.input_nodes.size() && i < row.twin_nodes.size() && i < event.inputs.size(); ++i)
      if (event.input_nodes[i] != row.twin_nodes[i])
        lines.push_back(
            fmt::format("{} sends the gradient of {} to {}; in the passing run it goes to {}",
                        event.name, short_name(event.inputs[i]), node_name(event.input_nodes[i]),
                        node_name(row.twin_nodes[i])));
  }
  return lines;
}

}  // namespace culprit
