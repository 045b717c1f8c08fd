// Tensors, histories, custom functions, recomputation.
#include "repro_files/cpp_pieces.hpp"

namespace culprit::cpp_pieces {

const char* const kTensors = R"text(

// A tensor is a handle on an impl on memory: handles may share an impl, impls may share memory (view).
struct Memory {
  std::vector<double> numbers;
%versions|release%   int version = 0;  // writes in place
};
struct Impl {
  std::shared_ptr<Memory> memory;
  int rows = 0, cols = 0;
};
struct Node;
struct Handle {
  std::shared_ptr<Impl> impl;
  bool stop_gradient = true;
  std::shared_ptr<Node> history = nullptr;  // what made it; of a leaf, what collects its gradient
  std::shared_ptr<Impl> grad = nullptr;     // of a leaf
};
using Tensor = std::shared_ptr<Handle>;  // null: none
%wide% using Tensors = std::vector<Tensor>;
using Backward = std::function<std::vector<Tensor>(const Tensor& dy)>;
struct Node {
  std::vector<std::shared_ptr<Node>> inputs;  // null where no gradient is needed; none at a leaf
  Backward backward;
%drops%   int rows = 0, cols = 0;
%freed%   bool saves = false;
};

%error% struct Failure : std::runtime_error {  // what the framework raises
%error%   Failure(std::string what_kind, const std::string& words) : runtime_error(words), kind(what_kind) {}
%error%   std::string kind;
%error% };
%error% 
thread_local bool recording = true;  // gradient mode
struct Recording {
  explicit Recording(bool on) { recording = on; }
  ~Recording() { recording = before; }
  bool before = recording;
};

Tensor handle(std::shared_ptr<Impl> impl) { return std::make_shared<Handle>(Handle{std::move(impl)}); }
Tensor tensor(int rows, int cols, std::vector<double> numbers) {
  auto memory = std::make_shared<Memory>(Memory{std::move(numbers)});
  return handle(std::make_shared<Impl>(Impl{std::move(memory), rows, cols}));
}
%!release% Impl& at(const Tensor& x) { return *x->impl; }
%release% Impl& at(const Tensor& x) {
%release%   if (!x->impl) throw Failure("USE_AFTER_RELEASE", "this tensor was released after it was sent");
%release%   return *x->impl;
%release% }
std::vector<double>& numbers(const Tensor& x) { return at(x).memory->numbers; }
Tensor copy(const Tensor& x) { return tensor(at(x).rows, at(x).cols, numbers(x)); }
Tensor sum(const Tensor& a, const Tensor& b) {
  const Tensor y = copy(a);
  for (std::size_t i = 0; i < numbers(y).size(); ++i) numbers(y)[i] += numbers(b)[i];
  return y;
}

bool needs_history(const std::vector<Tensor>& inputs) {
  return recording && std::any_of(inputs.begin(), inputs.end(), [](const Tensor& x) { return !x->stop_gradient; });
}
%leaf_rule% bool is_leaf(const Tensor& x) { return !x->history || x->history->inputs.empty(); }

// Gives y the history that leads to `inputs`. They are read first: where y is one of them, its own is replaced.
void set_history(const Tensor& y, const std::vector<Tensor>& inputs, Backward backward$SAVES_PARAMETER$) {
  auto node = std::make_shared<Node>();
  for (const Tensor& x : inputs) {
    if (!x->stop_gradient && !x->history) {  // a leaf collects
      x->history = std::make_shared<Node>();
      x->history->backward = [leaf = std::weak_ptr(x)](const Tensor& dx) {
        if (const Tensor to = leaf.lock()$IF_THERE$) to->grad = to->grad ? sum(handle(to->grad), dx)->impl : dx->impl;
        return std::vector<Tensor>();
      };
    }
    node->inputs.push_back(x->stop_gradient ? nullptr : x->history);
  }
  node->backward = std::move(backward);
%drops%   node->rows = at(y).rows;
%drops%   node->cols = at(y).cols;
%freed%   node->saves = saves;
  y->stop_gradient = false;
  y->history = node;
}
)text";

const char* const kSaving = R"text(

%nonreentrant% // Non-reentrant recomputation: what a block's operators save is dropped, and supplied by a second run of the
%nonreentrant% // block, on the same handles and without a check of versions.
%nonreentrant% struct Replay {
%nonreentrant%   std::function<void()> run_block;
%nonreentrant%   std::size_t num_saved = 0;
%nonreentrant%   std::vector<Tensor> supplied = {};
%nonreentrant%   bool is_second = false;
%nonreentrant% };
%nonreentrant% thread_local std::shared_ptr<Replay> replay;
%nonreentrant% Tensor view_of(const Tensor& x) { return handle(std::make_shared<Impl>(at(x))); }
%nonreentrant% 
// What $SAVERS$ of an input$VERSION_NOTE$.
std::function<Tensor()> save(const Tensor& x) {
%nonreentrant%   if (replay && replay->is_second) {
%nonreentrant%     replay->supplied.push_back(view_of(x));
%nonreentrant%     return {};
%nonreentrant%   }
%nonreentrant%   if (replay)
%nonreentrant%     return [run = replay, place = replay->num_saved++] {
%nonreentrant%       if (!run->is_second) {
%nonreentrant%         run->is_second = true;
%nonreentrant%         const Recording on(true);
%nonreentrant%         const auto around = std::exchange(replay, run);
%nonreentrant%         run->run_block();
%nonreentrant%         replay = around;
%nonreentrant%       }
%nonreentrant%       return run->supplied.at(place);
%nonreentrant%     };
%versions%   return [impl = x->impl, version = at(x).memory->version] {
%versions%     if (impl->memory->version != version)
%versions%       throw Failure("INPLACE_VERSION", "a tensor used in gradient computation has been modified by an inplace "
%versions%                                        "operation: its version is " + std::to_string(impl->memory->version) +
%versions%                                        " but the expected version is " + std::to_string(version));
%versions%     return handle(impl);
%versions%   };
%!versions%   return [impl = x->impl] { return handle(impl); };
}
)text";

const char* const kOperators = R"text(

Tensor product(const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b) {
  const int rows = transpose_a ? at(a).cols : at(a).rows, inner = transpose_a ? at(a).rows : at(a).cols;
  const int cols = transpose_b ? at(b).rows : at(b).cols;
  const Tensor y = tensor(rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols)));
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c)
      for (int k = 0; k < inner; ++k)
        numbers(y)[r * cols + c] += numbers(a)[transpose_a ? k * rows + r : r * inner + k] *
                                    numbers(b)[transpose_b ? c * inner + k : k * cols + c];
  return y;
}
Tensor matmul(const Tensor& x, const Tensor& w) {
  const Tensor y = product(x, false, w, false);
  if (needs_history({x, w}))
%versions|nonreentrant%     set_history(y, {x, w}, [x = save(x), w = save(w)](const Tensor& dy) {
%versions|nonreentrant%       const Tensor saved_x = x(), saved_w = w();
%versions|nonreentrant%       return std::vector{product(dy, false, saved_w, true), product(saved_x, true, dy, false)};
%!versions&!nonreentrant%     set_history(y, {x, w}, [x = handle(x->impl), w = handle(w->impl)](const Tensor& dy) {
%!versions&!nonreentrant%       return std::vector{product(dy, false, w, true), product(x, true, dy, false)};
    }$SAVES$);
  return y;
}
%add% Tensor add(const Tensor& a, const Tensor& b) {
%add%   const Tensor y = sum(a, b);
%add%   if (needs_history({a, b})) set_history(y, {a, b}, [](const Tensor& dy) { return std::vector{copy(dy), copy(dy)}; });
%add%   return y;
%add% }
%scale% Tensor scaled(const Tensor& x, double factor) {
%scale%   const Tensor y = copy(x);
%scale%   for (double& number : numbers(y)) number *= factor;
%scale%   return y;
%scale% }
%scale% Tensor scale(const Tensor& x, double factor) {
%scale%   const Tensor y = scaled(x, factor);
%scale%   if (needs_history({x})) set_history(y, {x}, [=](const Tensor& dy) { return std::vector{scaled(dy, factor)}; });
%scale%   return y;
%scale% }
%views% Tensor view(const Tensor& x) {  // a new handle on a new impl on the same memory
%views%   const Tensor y = handle(std::make_shared<Impl>(at(x)));
%views%   if (needs_history({x})) set_history(y, {x}, [](const Tensor& dy) { return std::vector{dy}; });
%views%   return y;
%views% }
)text";

const char* const kBackward = R"text(

// A node runs once, after all that lead to it.
void backward($ROOTS$$RETAIN_PARAMETER$) {
%!wide%   if (y->stop_gradient || !y->history) return;
  const Recording off(false);
  std::map<Node*, int> waits_for;
%!wide%   std::map<Node*, Tensor> gradient{{y->history.get(), dy}};
%!wide%   std::deque<std::shared_ptr<Node>> ready{y->history};
%wide%   std::map<Node*, Tensor> gradient;
%wide%   std::deque<std::shared_ptr<Node>> ready;
%wide%   for (std::size_t i = 0; i < roots.size(); ++i) {
%wide%     if (roots[i]->stop_gradient || !roots[i]->history) continue;
%wide%     Tensor& dy = gradient[roots[i]->history.get()];
%wide%     if (!dy) ready.push_back(roots[i]->history);
%wide%     dy = dy ? sum(dy, seeds[i]) : seeds[i];
%wide%   }
  std::set<Node*> seen;
  const std::function<void(Node*)> count = [&](Node* node) {
    if (!seen.insert(node).second) return;
    for (const auto& input : node->inputs) {
      if (!input) continue;
      ++waits_for[input.get()];
      count(input.get());
    }
  };
  for (const auto& root : ready) count(root.get());
%wide%   std::erase_if(ready, [&](const auto& root) { return waits_for[root.get()] > 0; });
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = ready.front();
    ready.pop_front();
%drops%     Tensor& arrived = gradient[node.get()];
%drops%     if (!arrived && !node->inputs.empty())  // reached, but no gradient came
%drops%       arrived = tensor(node->rows, node->cols, std::vector<double>(static_cast<std::size_t>(node->rows * node->cols)));
    const std::vector<Tensor> results = node->backward(gradient[node.get()]);
%freed%     if (node->saves && !retain_graph)
%freed%       node->backward = [](const Tensor&) -> std::vector<Tensor> {
%freed%         throw Failure("GRAPH_FREED", "backward runs through the same graph a second time: what was saved is freed");
%freed%       };
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const std::shared_ptr<Node>& input = node->inputs[i];
      if (!input) continue;
      Tensor& total = gradient[input.get()];
%gives_none%       if (results[i]) total = total ? sum(total, results[i]) : results[i];
%!gives_none%       total = total ? sum(total, results[i]) : results[i];
      if (--waits_for[input.get()] > 0) continue;
      if (input->inputs.empty())
        ready.push_front(input);
      else
        ready.push_back(input);
    }
  }
}
)text";

const char* const kCustomFunction = R"text(

// PyLayer.apply: forward without recording, then the rules for outputs that are inputs.
Tensor apply(const std::vector<Tensor>& inputs, const std::function<Tensor()>& forward, Backward backward$APPLY_EXTRA$) {
  const bool is_recorded = needs_history(inputs);
  Tensor y;
  {
    const Recording off(false);
    y = forward();
  }
%mark|in_place%   const bool is_in_place =
%mark|in_place%       std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& x) { return x->impl == y->impl; });
%mark%   // What the caller gets for a marked output that is an input: a new handle on the same impl.
%mark%   const Tensor returned = is_in_place && is_marked ? handle(y->impl) : y;
%mark%   if (is_in_place && is_marked) returned->stop_gradient = $MARK_STOPS$;
%mark%   if (!is_recorded) return returned;
%!mark%   if (!is_recorded) return y;
%leaf_rule%   if ($IN_PLACE$ && is_leaf(y))
%leaf_rule%     throw Failure("LEAF_INPLACE", "Leaf Var that doesn't stop gradient can't use inplace strategy");
%versions|release&in_place%   if ($IN_PLACE$) ++at(y).memory->version;
%stopped_rule%   const auto checked = [inputs, backward](const Tensor& dy) {
%stopped_rule%     const std::vector<Tensor> results = backward(dy);
%stopped_rule%     for (std::size_t i = 0; i < inputs.size(); ++i)
%stopped_rule%       if (results[i] && inputs[i]->stop_gradient)
%stopped_rule%         throw Failure("GRAD_FOR_STOPPED_INPUT", "backward should return None at " + std::to_string(i) +
%stopped_rule%                                                 " position, because its forward Tensor's stopgradient is true");
%stopped_rule%     return results;
%stopped_rule%   };
%stopped_rule%   set_history(y, inputs, checked);
%!stopped_rule%   set_history(y, inputs, std::move(backward)$SAVES_IN_APPLY$);
%mark%   return returned;  // y, not `returned`, has the history
%!mark%   return y;
}
)text";

const char* const kRecompute = R"text(

using Block = std::function<Tensor(const Tensor&)>;
%reentrant% // Runs the block without recording; backward runs it again, on a detached input, and backward through it.
%reentrant% Tensor recompute(const Block& block, const Tensor& x) {
%reentrant%   return apply({x}, [&] { return block(x); }, [block, x](const Tensor& dy) {
%reentrant%     const Tensor input = handle(x->impl);  // detached: a leaf
%reentrant%     input->stop_gradient = x->stop_gradient;
%reentrant%     Tensor y;
%reentrant%     {
%reentrant%       const Recording on(true);
%reentrant%       y = block(input);
%reentrant%     }
%reentrant%     $INNER_BACKWARD$
%reentrant%     return std::vector{input->grad ? handle(input->grad) : nullptr};
%reentrant%   }$SAVES$);
%reentrant% }
%nonreentrant% Tensor recompute(const Block& block, const Tensor& x) {
%nonreentrant%   replay = std::make_shared<Replay>(Replay{.run_block = [block, x] { block(x); }});
%nonreentrant%   const Tensor y = block(x);
%nonreentrant%   replay = nullptr;
%nonreentrant%   return y;
%nonreentrant% }
)text";

}  // namespace culprit::cpp_pieces
