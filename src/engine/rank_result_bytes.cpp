#include "engine/rank_result_bytes.hpp"

#include "base/bytes.hpp"
#include "trace/trace_json.hpp"

namespace culprit {
namespace {

using Values = std::optional<std::vector<float>>;
void put(ByteWriter& writer, const Values& values) {
  writer.put(values.has_value());
  if (values) writer.put_list(*values);
}
Values get_values(ByteReader& reader) {
  if (!reader.get<bool>()) return std::nullopt;
  return reader.get_list<float>();
}

void put(ByteWriter& writer, const ParameterGrad& grad) {
  const ParameterSpec& spec = grad.spec;
  writer.put_text(spec.name);
  writer.put(spec.value_kind);
  writer.put(spec.block);
  writer.put(spec.term);
  writer.put(spec.split);
  writer.put(spec.shape);
  writer.put(spec.trainable);
  put(writer, grad.grad);
  writer.put(static_cast<int>(grad.after_micro_batch.size()));
  for (const Values& values : grad.after_micro_batch) put(writer, values);
}
ParameterGrad get_grad(ByteReader& reader) {
  ParameterGrad grad;
  ParameterSpec& spec = grad.spec;
  spec.name = reader.get_text();
  spec.value_kind = reader.get<ValueKind>();
  spec.block = reader.get<int>();
  spec.term = reader.get<int>();
  spec.split = reader.get<Split>();
  spec.shape = reader.get<Shape>();
  spec.trainable = reader.get<bool>();
  grad.grad = get_values(reader);
  const int count = reader.get<int>();
  for (int i = 0; i < count; ++i) grad.after_micro_batch.push_back(get_values(reader));
  return grad;
}

}  // namespace

std::string to_bytes(const RankResult& result) {
  ByteWriter writer;
  writer.put(result.stage);
  writer.put(result.tp_rank);
  writer.put(result.error.has_value());
  if (result.error) {
    writer.put(result.error->error_class);
    writer.put_text(result.error->kind);
    writer.put_text(result.error->message);
    writer.put(result.error->phase);
    writer.put(result.error->in_recompute);
  }
  writer.put(result.loss);
  writer.put(result.released_outputs);
  writer.put(static_cast<int>(result.grads.size()));
  for (const ParameterGrad& grad : result.grads) put(writer, grad);
  writer.put(result.comm);
  writer.put(result.memory);
  writer.put_text(trace_to_json({.ranks = {result.trace}}));
  return writer.take();
}

RankResult rank_result_from_bytes(std::string_view bytes) {
  ByteReader reader(bytes);
  RankResult result;
  result.stage = reader.get<int>();
  result.tp_rank = reader.get<int>();
  if (reader.get<bool>()) {
    RankError error;
    error.error_class = reader.get<RankError::Class>();
    error.kind = reader.get_text();
    error.message = reader.get_text();
    error.phase = reader.get<Phase>();
    error.in_recompute = reader.get<bool>();
    result.error = std::move(error);
  }
  result.loss = reader.get<double>();
  result.released_outputs = reader.get<int>();
  const int num_grads = reader.get<int>();
  for (int i = 0; i < num_grads; ++i) result.grads.push_back(get_grad(reader));
  result.comm = reader.get<CommCounters>();
  result.memory = reader.get<MemoryCounters>();
  result.trace = trace_from_json(reader.get_text()).ranks.at(0);
  return result;
}

}  // namespace culprit
