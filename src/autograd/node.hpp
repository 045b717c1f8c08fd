// Grad nodes: the recorded history of a tensor object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

class Node;

// Where the gradient of one input goes: an output slot of the node that produced it. No node: nowhere.
struct Edge {
  std::shared_ptr<Node> node;
  std::size_t slot = 0;
};

// What a node makes of an output slot that no gradient arrived in (rule 4).
enum class MissingGradient { kZeros, kStaysNone, kCrashes };

class Node {
 public:
  explicit Node(std::string name) : name_(std::move(name)) {}
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // One gradient an output slot (undefined: none arrived) -> one an edge (undefined: none given).
  // alias: a result may be one of `grads` itself. Runs with gradient mode off. Errors: SubjectError.
  virtual std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) = 0;
  // Looks at what was saved as backward() would, where no gradient arrived and nothing is computed
  // (rule 25). Errors: as of backward().
  virtual void unpack_saved(Context&) const {}
  // Lets go of what was saved, after the node has run.
  virtual void release_saved() {}
  virtual MissingGradient missing_gradient() const { return MissingGradient::kZeros; }
  virtual bool is_accumulation() const { return false; }
  virtual bool is_custom_function() const { return false; }

  // Takes the input edges from the inputs' metas as they are now (rule 3), creating the accumulation
  // nodes of leaves that need a gradient. An undefined input gets an empty edge.
  void take_edges(const std::vector<Tensor>& inputs);
  // Points the objects' metas at this node, output i at slot i (rule 6: rebases an object passed in).
  // stop_gradient becomes false. An undefined output keeps its slot and is left alone.
  static void set_history(const std::shared_ptr<Node>& node, const std::vector<Tensor>& outputs);

  // Its place in the order in which nodes are made; a custom function's before its forward (rule 28).
  void set_number(std::uint64_t number) { number_ = number; }
  std::uint64_t number() const { return number_; }

  const std::string& name() const { return name_; }
  const std::vector<Edge>& edges() const { return edges_; }
  const std::vector<Shape>& output_shapes() const { return output_shapes_; }

 private:
  std::string name_;
  std::uint64_t number_ = 0;
  std::vector<Edge> edges_;
  std::vector<Shape> output_shapes_;
};

// Writes a leaf's gradients into that object's own grad; rebasing the object later moves neither.
class AccumulationNode final : public Node {
 public:
  explicit AccumulationNode(const Tensor& leaf)
      : Node("accumulate " + leaf.name()), leaf_(leaf.object()) {}
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override;
  MissingGradient missing_gradient() const override { return MissingGradient::kStaysNone; }
  bool is_accumulation() const override { return true; }

 private:
  std::weak_ptr<Tensor::Object> leaf_;
};

// Whoever looks up the history of a tensor passes through this: that of a view which a custom function gave out is lost
// once its memory has been changed in place (rule 22). Errors: SubjectError VIEW_INPLACE.
void require_history(const Tensor& tensor);

// Whether an operation on `inputs` is recorded now: gradient mode on and one of them needs a gradient.
bool needs_history(const Context& context, const std::vector<Tensor>& inputs);

}  // namespace culprit
