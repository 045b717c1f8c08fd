#include <algorithm>

#include "autograd/node.hpp"
#include "trace/rank_recorder.hpp"

namespace culprit {
TraceEvent* RankRecorder::add(TraceEvent::Kind kind, const std::string& name) {
  if (trace_.events.size() == kMaxTraceEvents) {
    trace_.truncated = true;
    return nullptr;
  }
  const Phase phase = phase_();
  TraceEvent& event = trace_.events.emplace_back();
  event.kind = kind;
  event.name = name;
  event.pass = pass_name(phase.pass);
  event.micro_batch = phase.micro_batch;
  event.in_recompute = context_.replay_depth() > 0;
  return &event;
}

TraceTensor RankRecorder::describe(const Tensor& tensor) {
  TraceTensor described;
  if (!tensor.defined()) return described;
  described.object = id_of(objects_, tensor.object());
  described.name = tensor.name();
  described.is_leaf = tensor.is_leaf();
  described.stop_gradient = tensor.stop_gradient();
  if (tensor.released()) return described;
  described.impl = id_of(impls_, tensor.impl());
  described.storage = id_of(storages_, tensor.impl()->storage());
  described.version = tensor.impl()->inplace_version();
  return described;
}

void RankRecorder::describe_node(TraceEvent& event, const std::shared_ptr<Node>& node) {
  if (!node) return;
  event.recorded = true;
  for (const Edge& edge : node->edges())
    event.input_nodes.push_back(!edge.node                     ? -1
                                : edge.node->is_accumulation() ? -2
                                                               : id_of(nodes_, edge.node));
  event.node = id_of(nodes_, node);
}

void RankRecorder::operator_done(const std::string& name, const std::vector<Tensor>& inputs,
                                 const Tensor& output, const std::shared_ptr<Node>& node) {
  TraceEvent* event = add(TraceEvent::Kind::kOperator, name);
  if (!event) return;
  for (const Tensor& input : inputs) event->inputs.push_back(describe(input));
  event->outputs.push_back(describe(output));
  event->rebased.push_back(false);
  describe_node(*event, node);
}

void RankRecorder::function_done(const std::string& name, const std::vector<Tensor>& inputs,
                                 const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& returned,
                                 const std::shared_ptr<Node>& node) {
  TraceEvent* event = add(TraceEvent::Kind::kCustomFunction, name);
  if (!event) return;
  for (const Tensor& input : inputs) event->inputs.push_back(describe(input));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool was_passed_in = std::any_of(
        inputs.begin(), inputs.end(), [&](const Tensor& input) { return input.is(outputs[i]); });
    event->outputs.push_back(describe(outputs[i]));
    event->rebased.push_back(node && was_passed_in);
    if (returned[i].is(outputs[i])) continue;
    event->outputs.push_back(describe(returned[i]));
    event->rebased.push_back(false);
  }
  describe_node(*event, node);
}

void RankRecorder::backward_done(const std::shared_ptr<Node>& node) {
  if (node->is_accumulation()) return;
  if (TraceEvent* event = add(TraceEvent::Kind::kNodeBackward, node->name())) {
    event->recorded = true;
    event->node = id_of(nodes_, node);
  }
}

void RankRecorder::raised(const std::string& kind, const std::string& message) {
  trace_.error_kind = kind;
  trace_.error_message = message;
  add(TraceEvent::Kind::kRaised, kind);
}

// Notes the wait for a collective.
class RecordingWork final : public Work {
 public:
  RecordingWork(RankRecorder& recorder, std::unique_ptr<Work> inner, TraceEvent wait)
      : recorder_(recorder), inner_(std::move(inner)), wait_(std::move(wait)) {}
  void wait() override {
    if (TraceEvent* event = recorder_.add(TraceEvent::Kind::kCollectiveWait, wait_.name)) {
      event->group = wait_.group;
      event->num_elements = wait_.num_elements;
      event->collective = wait_.collective;
    }
    inner_->wait();
  }

 private:
  RankRecorder& recorder_;
  std::unique_ptr<Work> inner_;
  TraceEvent wait_;  // as it will stand, without its place
};

// Notes every call before it is made, so that the one a rank is stuck in is the last of its trace.
class RecordingCommunicator final : public Communicator {
 public:
  RecordingCommunicator(RankRecorder& recorder, std::unique_ptr<Communicator> inner,
                        std::string group)
      : recorder_(recorder), inner_(std::move(inner)), group_(std::move(group)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }

  void all_reduce(Elements buffer, const std::string& what) override {
    const TraceEvent event = collective(buffer.num_elements, what);
    note(TraceEvent::Kind::kCollectiveWait, what, -1, buffer.num_elements, event.collective);
    inner_->all_reduce(buffer, what);
    count();
  }
  std::unique_ptr<Work> start_all_reduce(Elements buffer, const std::string& what) override {
    TraceEvent event = collective(buffer.num_elements, what);
    auto work = inner_->start_all_reduce(buffer, what);
    count();
    return std::make_unique<RecordingWork>(recorder_, std::move(work), std::move(event));
  }
  void all_gather(Elements mine, Elements gathered, const std::string& what) override {
    const TraceEvent event = collective(mine.num_elements, what);
    note(TraceEvent::Kind::kCollectiveWait, what, -1, mine.num_elements, event.collective);
    inner_->all_gather(mine, gathered, what);
    count();
  }
  void send(Elements buffer, int to, const std::string& what) override {
    note(TraceEvent::Kind::kSend, what, to, buffer.num_elements);
    inner_->send(buffer, to, what);
    count();
  }
  std::unique_ptr<Work> start_send(Elements buffer, int to, const std::string& what) override {
    note(TraceEvent::Kind::kSend, what, to, buffer.num_elements);
    auto work = inner_->start_send(buffer, to, what);
    count();
    return work;
  }
  void send_none(int to, const std::string& what) override {
    note(TraceEvent::Kind::kSend, what, to, 0);
    inner_->send_none(to, what);
    count();
  }
  bool receive(Elements buffer, int from, const std::string& what) override {
    note(TraceEvent::Kind::kReceive, what, from, buffer.num_elements);
    const bool is_data = inner_->receive(buffer, from, what);
    count();
    return is_data;
  }

 private:
  TraceEvent collective(std::int64_t num_elements, const std::string& what) {
    return note(TraceEvent::Kind::kCollective, what, -1, num_elements, next_collective_++);
  }
  TraceEvent note(TraceEvent::Kind kind, const std::string& what, int peer,
                  std::int64_t num_elements, int collective = -1) {
    TraceEvent noted;
    noted.name = what;
    noted.group = group_;
    noted.peer = peer;
    noted.num_elements = num_elements;
    noted.collective = collective;
    if (TraceEvent* event = recorder_.add(kind, what)) {
      event->group = noted.group;
      event->peer = noted.peer;
      event->num_elements = noted.num_elements;
      event->collective = noted.collective;
    }
    return noted;
  }
  void count() { counters_ = inner_->counters(); }

  RankRecorder& recorder_;
  std::unique_ptr<Communicator> inner_;
  std::string group_;
  int next_collective_ = 0;
};

std::unique_ptr<Communicator> RankRecorder::record(std::unique_ptr<Communicator> inner,
                                                   const std::string& group) {
  return std::make_unique<RecordingCommunicator>(*this, std::move(inner), group);
}

}  // namespace culprit
