// Records one rank's run as a RankTrace: it observes the rank's autograd and stands before its
// communicators. Used by that rank's thread alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "autograd/context.hpp"
#include "comm/communicator.hpp"
#include "pipeline/stage.hpp"
#include "trace/cell_trace.hpp"

namespace culprit {

class RankRecorder final : public OperationObserver {
 public:
  // Keeps every object, storage and node it saw alive until it is destroyed, so that an id names
  // one thing; the memory counters of a traced run are therefore higher. `context` and `phase` must
  // outlive it.
  RankRecorder(const Context& context, std::function<Phase()> phase)
      : context_(context), phase_(std::move(phase)) {}

  void operator_done(const std::string& name, const std::vector<Tensor>& inputs,
                     const Tensor& output, const std::shared_ptr<Node>& node) override;
  void function_done(const std::string& name, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs, const std::vector<Tensor>& returned,
                     const std::shared_ptr<Node>& node) override;
  void backward_done(const std::shared_ptr<Node>& node) override;

  // alias: `inner`, wrapped; `group` names it in the events.
  std::unique_ptr<Communicator> record(std::unique_ptr<Communicator> inner,
                                       const std::string& group);

  // The rank ends with this error.
  void raised(const std::string& kind, const std::string& message);
  // Without stage and tensor rank, which the rank's own run knows.
  RankTrace take() { return std::move(trace_); }

 private:
  friend class RecordingCommunicator;
  friend class RecordingWork;
  // The new event at the present place, or null when the trace is full.
  TraceEvent* add(TraceEvent::Kind kind, const std::string& name);
  TraceTensor describe(const Tensor& tensor);
  void describe_node(TraceEvent& event, const std::shared_ptr<Node>& node);
  // The number of a thing, kept alive from now on.
  template <class T>
  static int id_of(std::map<std::shared_ptr<T>, int>& ids, const std::shared_ptr<T>& thing) {
    return ids.try_emplace(thing, static_cast<int>(ids.size())).first->second;
  }

  const Context& context_;
  std::function<Phase()> phase_;
  RankTrace trace_;
  std::map<std::shared_ptr<Tensor::Object>, int> objects_;
  std::map<std::shared_ptr<TensorImpl>, int> impls_;
  std::map<std::shared_ptr<Storage>, int> storages_;
  std::map<std::shared_ptr<Node>, int> nodes_;
};

}  // namespace culprit
