#include "trace/trace_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;
using Kind = TraceEvent::Kind;

constexpr const char* kKindNames[] = {"operator",        "function", "node_backward", "collective",
                                      "collective_wait", "send",     "receive",       "raised"};

Kind kind_named(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kKindNames); ++i)
    if (name == kKindNames[i]) return static_cast<Kind>(i);
  throw SetupError(fmt::format("unknown event '{}'", name));
}

Json to_json(const std::vector<TraceTensor>& tensors) {
  Json list = Json::array();
  for (const TraceTensor& tensor : tensors)
    list.push_back({{"object", tensor.object},
                    {"impl", tensor.impl},
                    {"storage", tensor.storage},
                    {"name", tensor.name},
                    {"version", tensor.version},
                    {"leaf", tensor.is_leaf},
                    {"stop_gradient", tensor.stop_gradient}});
  return list;
}
std::vector<TraceTensor> tensors_from(const Json& list) {
  std::vector<TraceTensor> tensors;
  for (const Json& item : list)
    tensors.push_back({.object = item.at("object"),
                       .impl = item.at("impl"),
                       .storage = item.at("storage"),
                       .name = item.at("name"),
                       .version = item.at("version"),
                       .is_leaf = item.at("leaf"),
                       .stop_gradient = item.at("stop_gradient")});
  return tensors;
}

bool is_communication(Kind kind) {
  return kind == Kind::kCollective || kind == Kind::kCollectiveWait || kind == Kind::kSend ||
         kind == Kind::kReceive;
}

Json to_json(const TraceEvent& event) {
  Json object{{"event", kKindNames[static_cast<std::size_t>(event.kind)]},
              {"name", event.name},
              {"pass", event.pass},
              {"micro_batch", event.micro_batch}};
  if (event.in_recompute) object["recompute"] = true;
  if (is_communication(event.kind)) {
    object["group"] = event.group;
    object["elements"] = event.num_elements;
    if (event.peer >= 0) object["peer"] = event.peer;
    if (event.collective >= 0) object["collective"] = event.collective;
    return object;
  }
  if (event.node >= 0) object["node"] = event.node;
  if (event.kind == Kind::kNodeBackward || event.kind == Kind::kRaised) return object;
  object["inputs"] = to_json(event.inputs);
  object["outputs"] = to_json(event.outputs);
  object["rebased"] = event.rebased;
  if (event.recorded) object["input_nodes"] = event.input_nodes;
  return object;
}
TraceEvent event_from(const Json& object) {
  TraceEvent event;
  event.kind = kind_named(object.at("event"));
  event.name = object.at("name");
  event.pass = object.at("pass");
  event.micro_batch = object.at("micro_batch");
  event.in_recompute = object.value("recompute", false);
  if (is_communication(event.kind)) {
    event.group = object.at("group");
    event.num_elements = object.at("elements");
    event.peer = object.value("peer", -1);
    event.collective = object.value("collective", -1);
    return event;
  }
  event.node = object.value("node", -1);
  event.recorded = event.node >= 0;
  if (event.kind == Kind::kNodeBackward || event.kind == Kind::kRaised) return event;
  event.inputs = tensors_from(object.at("inputs"));
  event.outputs = tensors_from(object.at("outputs"));
  event.rebased = object.at("rebased").get<std::vector<bool>>();
  if (event.recorded) event.input_nodes = object.at("input_nodes").get<std::vector<int>>();
  return event;
}

}  // namespace

std::string trace_to_json(const CellTrace& trace) {
  Json ranks = Json::array();
  for (const RankTrace& rank : trace.ranks) {
    Json object{{"stage", rank.stage}, {"tp_rank", rank.tp_rank}};
    if (rank.truncated) object["truncated"] = true;
    if (!rank.error_kind.empty()) {
      object["error_kind"] = rank.error_kind;
      object["error_message"] = rank.error_message;
    }
    object["events"] = Json::array();
    for (const TraceEvent& event : rank.events) object["events"].push_back(to_json(event));
    ranks.push_back(std::move(object));
  }
  return Json{{"schema", 1}, {"ranks", std::move(ranks)}}.dump(-1, ' ', /*ensure_ascii=*/true,
                                                               Json::error_handler_t::replace) +
         "\n";
}

CellTrace trace_from_json(std::string_view text) {
  try {
    const Json document = Json::parse(text);
    if (document.at("schema") != 1)
      throw SetupError(fmt::format("schema {}, expected 1", document.at("schema").dump()));
    CellTrace trace;
    for (const Json& object : document.at("ranks")) {
      RankTrace& rank = trace.ranks.emplace_back();
      rank.stage = object.at("stage");
      rank.tp_rank = object.at("tp_rank");
      rank.truncated = object.value("truncated", false);
      rank.error_kind = object.value("error_kind", "");
      rank.error_message = object.value("error_message", "");
      for (const Json& event : object.at("events")) rank.events.push_back(event_from(event));
    }
    return trace;
  } catch (const Json::exception& error) {
    throw SetupError(fmt::format("not a trace: {}", error.what()));
  }
}

}  // namespace culprit
