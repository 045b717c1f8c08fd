// Ranks, their collectives, one step and its judgement.
#include "repro_files/cpp_pieces.hpp"

namespace culprit::cpp_pieces {

const char* const kRanks = R"text(

%pp% // What one stage sends another goes through a channel. A rank that leaves closes its channels.
%pp% struct PeerLost {};
%pp% class Channel {
%pp%  public:
%pp%   void send(std::vector<double> message) {
%pp%     const std::lock_guard lock(mutex_);
%pp%     messages_.push_back(std::move(message));
%pp%     changed_.notify_all();
%pp%   }
%pp%   std::vector<double> receive() {
%pp%     std::unique_lock lock(mutex_);
%pp%     changed_.wait(lock, [&] { return !messages_.empty() || is_closed_; });
%pp%     if (messages_.empty()) throw PeerLost();
%pp%     std::vector<double> message = std::move(messages_.front());
%pp%     messages_.pop_front();
%pp%     return message;
%pp%   }
%pp%   void close() {
%pp%     const std::lock_guard lock(mutex_);
%pp%     is_closed_ = true;
%pp%     changed_.notify_all();
%pp%   }
%pp% 
%pp%  private:
%pp%   std::mutex mutex_;
%pp%   std::condition_variable changed_;
%pp%   std::deque<std::vector<double>> messages_;
%pp%   bool is_closed_ = false;
%pp% };
%pp% std::map<std::pair<int, int>, Channel> channels;  // by sender and receiver
%pp% 
%tp% // Where tensor ranks meet to read what each has put down.
%tp% struct Group {
%tp%   std::barrier<> meet{$TP$};
%tp%   std::vector<double> parts[$TP$];
%tp% };
%tp&pp% Group groups[$PP$];
%tp&!pp% Group group;
%tp% 
struct Rank {
%ranks%   int me = 0;
%tp&reference%   int tp = $TP$;  // 1 in the reference
%tp%   int tp_rank() const { return me % $TP$; }
%pp%   int stage() const { return $CPP_STAGE$; }
  std::map<std::string, Tensor> weights = {};
%error%   std::string failure = {}, words = {};
};
thread_local Rank* self = nullptr;
%tp% 
%tp% std::vector<std::vector<double>> exchange(const std::vector<double>& mine) {
%tp&pp%   Group& group = groups[self->stage()];
%tp%   group.parts[self->tp_rank()] = mine;
%tp%   group.meet.arrive_and_wait();
%tp%   const std::vector all(std::begin(group.parts), std::end(group.parts));
%tp%   group.meet.arrive_and_wait();  // all have read
%tp%   return all;
%tp% }
%sums% // The all-reduce writes memory: it is not recorded and counts as no write.
%sums% void sum_over_ranks(std::vector<double>& numbers) {
%sums%   const auto all = exchange(numbers);
%sums%   std::fill(numbers.begin(), numbers.end(), 0);
%sums%   for (const auto& part : all)
%sums%     for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += part[i];
%sums% }
)text";

const char* const kRegions = R"text(

%identity% // Before a column-parallel matmul: nothing to do forward, all-reduce backward.
%identity% Tensor identity(const Tensor& x) {
%identity&reference%   if (self->tp == 1) return x;
%identity%   const auto forward = [&] {
%identity%     $IDENTITY_RULE$
%identity%   };
%identity%   const auto backward = [](const Tensor& dy) {
%identity%     sum_over_ranks(numbers(dy));
%identity%     return std::vector{dy};
%identity%   };
%identity&mark%   return apply({x}, forward, backward, /*is_marked=*/true);
%identity&!mark%   return apply({x}, forward, backward);
%identity% }
%row% // After a row-parallel matmul: all-reduce forward, in place.
%row% Tensor all_reduce(const Tensor& x) {
%row&reference%   if (self->tp == 1) return x;
%row%   const auto forward = [&] {
%row%     sum_over_ranks(numbers(x));
%row%     return x;
%row%   };
%row&skips%   return apply({x}, forward, [](const Tensor& dy) { return std::vector{dy}; });
%row&!skips%   return apply({x}, forward, [](const Tensor& dy) { return std::vector{copy(dy)}; });
%row% }
%gather% Tensor gather(const Tensor& x) {  // this rank's columns beside those of the others
%gather&reference%   if (self->tp == 1) return x;
%gather%   const int rows = at(x).rows, cols = at(x).cols;
%gather%   const auto forward = [&] {
%gather%     const auto parts = exchange(numbers(x));
%gather%     const Tensor y = tensor(rows, cols * $TP$, {});
%gather%     for (int r = 0; r < rows; ++r)
%gather%       for (const auto& part : parts)
%gather%         numbers(y).insert(numbers(y).end(), part.begin() + r * cols, part.begin() + (r + 1) * cols);
%gather%     return y;
%gather%   };
%gather%   return apply({x}, forward, [=](const Tensor& dy) {
%gather%     const Tensor dx = tensor(rows, cols, {});
%gather%     for (int r = 0; r < rows; ++r) {
%gather%       const auto mine = numbers(dy).begin() + r * at(dy).cols + self->tp_rank() * cols;
%gather%       numbers(dx).insert(numbers(dx).end(), mine, mine + cols);
%gather%     }
%gather%     return std::vector{dx};
%gather%   });
%gather% }
%overlap% // The column-parallel linear for asynchronous all-reduce: one function, which overlaps the all-reduce of dx with dw.
%overlap% Tensor overlap_linear(const Tensor& x, const Tensor& w) {
%overlap&reference%   if (self->tp == 1) return matmul(x, w);
%overlap&none_refused%   $NONE_RULE$
%overlap&nonreentrant%   const std::function<Tensor()> kept_x = replay ? save(x) : [=] { return x; };
%overlap&nonreentrant%   const std::function<Tensor()> kept_w = replay ? save(w) : [=] { return w; };
%overlap%   return apply({x, w}, [&] { return matmul(x, w); }, [=](const Tensor& dy) {
%overlap&nonreentrant%     const Tensor saved_x = kept_x(), saved_w = kept_w();
%overlap&nonreentrant%     const Tensor dx = product(dy, false, saved_w, true), dw = product(saved_x, true, dy, false);
%overlap&!nonreentrant%     const Tensor dx = product(dy, false, w, true), dw = product(x, true, dy, false);
%overlap%     sum_over_ranks(numbers(dx));
%overlap%     $OVERLAP_RULE$
%overlap%   });
%overlap% }
%frozen_linear% // A linear whose weight takes no gradient, as the quantised layer's own function.
%frozen_linear% Tensor frozen_linear(const Tensor& x, const Tensor& w) {
%frozen_linear&reference%   if (self->tp == 1) return matmul(x, w);
%frozen_linear&none_refused%   $NONE_RULE$
%frozen_linear%   const std::function<Tensor()> kept_x = replay ? save(x) : [=] { return x; };
%frozen_linear%   const std::function<Tensor()> kept_w = replay ? save(w) : [=] { return w; };
%frozen_linear%   return apply({x, w}, [&] { return matmul(x, w); }, [=](const Tensor& dy) {
%frozen_linear%     const Tensor saved_x = kept_x(), saved_w = kept_w();
%frozen_linear%     $FROZEN_RULE$
%frozen_linear%     return std::vector<Tensor>{product(dy, false, saved_w, true), nullptr};
%frozen_linear%   });
%frozen_linear% }
)text";

const char* const kStep = R"text(

// Fixed numbers from -0.5 to 0.5.
std::vector<double> fixed(int k, int count) {
  std::vector<double> list;
  for (int i = 0; i < count; ++i) list.push_back(((i * 37 + k * 11 + 5) % 101 - 50) / 100.0);
  return list;
}
Tensor batch(int k$CPP_M$) { return tensor($TOKENS$, $HIDDEN$, fixed(k$PLUS_M$, $TOKENS$ * $HIDDEN$)); }

%split% enum Split { kWhole, kColumns, kRows };
struct Parameter {
  const char* name;
  int number, rows, cols;
%split%   Split split;
%gain%   double gain;
%pp%   int stage;
%frozen%   bool is_trainable;
};
const std::vector<Parameter> parameters = {
    $CPP_PARAMETERS$
};
%split% 
%split% // This rank's part of a whole parameter's numbers.
%split% Tensor shard(const Parameter& p, const std::vector<double>& whole) {
%split%   const bool by_rows = p.split == kRows$ONLY_IN_A_GROUP$, by_cols = p.split == kColumns$ONLY_IN_A_GROUP$;
%split%   const int rows = by_rows ? p.rows / $TP$ : p.rows, cols = by_cols ? p.cols / $TP$ : p.cols;
%split%   const int first = by_rows ? self->tp_rank() * rows * cols : by_cols ? self->tp_rank() * cols : 0;
%split%   const Tensor part = tensor(rows, cols, {});
%split%   for (int r = 0; r < rows; ++r)
%split%     for (int c = 0; c < cols; ++c) numbers(part).push_back(whole[first + r * p.cols + c]);
%split%   return part;
%split% }
void make_weights($WEIGHTS_OF$) {
  for (const Parameter& p : parameters) {
%pp&reference%     if (stage >= 0 && p.stage != stage) continue;  // -1: all
%pp&!reference%     if (p.stage != stage) continue;
%gain%     std::vector<double> whole = fixed(p.number, p.rows * p.cols);
%gain%     for (double& number : whole) number *= p.gain;
    const Tensor w = $CPP_VALUE$;
    w->stop_gradient = $CPP_STOP_GRADIENT$;
    self->weights[p.name] = w;
  }
}
// The gradient of the mean squared error$LOSS_WORDS$.
Tensor loss_gradient(const Tensor& y$CPP_M$) {
  const Tensor dy = copy(y), target = batch($TARGET$$M_ARGUMENT$);
  for (std::size_t i = 0; i < numbers(dy).size(); ++i)
    numbers(dy)[i] = 2 * (numbers(y)[i] - numbers(target)[i]) / static_cast<double>(numbers(y).size())$LOSS_FACTORS$;
  return dy;
}

%!pp% void train() {
%!pp%   make_weights();
%!pp&many%   for (int m = 0; m < $MICRO_BATCHES$; ++m) {
%!pp&many%     const Tensor y = forward(batch($DATA$, m));
%!pp&many%     backward(y, loss_gradient(y, m)$NO_RETAIN$);
%!pp&many%   }
%!pp&!many%   const Tensor y = forward(batch($DATA$));
%!pp&!many%   backward(y, loss_gradient(y)$NO_RETAIN$);
%!pp% }
%pp% void send(const Tensor& x, int to) { channels[{self->me, to}].send(numbers(x)); }
%pp% void train() {
%pp%   const int stage = self->stage(), before = self->me - $CPP_STRIDE$, after = self->me + $CPP_STRIDE$;
%pp%   const bool is_last = stage == $PP$ - 1;
%pp%   make_weights(stage);
%pp%   std::deque<std::pair<$BOUNDARY$, $BOUNDARY$>> in_flight;
%pp%   const auto forward_pass = [&]($CPP_M_ONLY$) {
%pp&!wide%     Tensor x = stage == 0 ? batch($DATA$$M_ARGUMENT$) : tensor($TOKENS$, $HIDDEN$, channels[{before, self->me}].receive());
%pp&!wide%     x->stop_gradient = stage == 0;  // what is received is a leaf that needs a gradient
%pp&wide%     Tensors x;
%pp&wide%     if (stage == 0) x = {batch($DATA$$M_ARGUMENT$)};
%pp&wide%     for (int i = 0; stage > 0 && i < $WIDTH$; ++i) {
%pp&wide%       x.push_back(tensor($TOKENS$, $HIDDEN$, channels[{before, self->me}].receive()));
%pp&wide%       x[i]->stop_gradient = false;  // what is received is a leaf that needs a gradient
%pp&wide%     }
%pp%     const $BOUNDARY$ y = forward(stage, x);
%pp&!wide%     if (!is_last) send(y, after);
%pp&!wide&release%     if (!is_last && at(y).memory->version == 0) y->impl = nullptr;  // what was sent is released
%pp&wide%     for (std::size_t i = 0; !is_last && i < y.size(); ++i) send(y[i], after);
%pp&wide&release%     for (std::size_t i = 0; !is_last && i < y.size(); ++i)
%pp&wide&release%       if (at(y[i]).memory->version == 0) y[i]->impl = nullptr;  // what was sent is released
%pp%     in_flight.push_back({x, y});
%pp%   };
%pp%   const auto backward_pass = [&]($CPP_M_ONLY$) {
%pp%     const auto [x, y] = in_flight.front();
%pp%     in_flight.pop_front();
%pp&!wide%     Tensor dy = is_last ? loss_gradient(y$M_ARGUMENT$) : nullptr;
%pp&!wide%     if (!is_last) {
%pp&!wide%       const auto received = channels[{after, self->me}].receive();
%pp&!wide&drops&error%       if (received.empty()) throw Failure("NO_INPUT_GRAD", "the next stage sent no gradient of its input");
%pp&!wide%       dy = tensor($TOKENS$, $HIDDEN$, received);
%pp&!wide%     }
%pp&!wide%     backward(y, dy$NO_RETAIN$);
%pp&!wide&drops%     if (stage > 0) channels[{self->me, before}].send(x->grad ? x->grad->memory->numbers : std::vector<double>());
%pp&!wide&!drops%     if (stage > 0) send(handle(x->grad), before);
%pp&wide%     Tensors dy;
%pp&wide%     if (is_last) dy = {loss_gradient(y[0]$M_ARGUMENT$)};
%pp&wide%     for (std::size_t i = 0; !is_last && i < y.size(); ++i)
%pp&wide%       dy.push_back(tensor($TOKENS$, $HIDDEN$, channels[{after, self->me}].receive()));
%pp&wide%     backward(y, dy$NO_RETAIN$);
%pp&wide%     for (const Tensor& input : x)
%pp&wide%       if (stage > 0) send(handle(input->grad), before);
%pp%   };
%pp&!many%   forward_pass();
%pp&!many%   backward_pass();
%pp&many%   const int warm_up = std::min($PP$ - 1 - stage, $MICRO_BATCHES$);  // 1F1B
%pp&many%   for (int m = 0; m < $MICRO_BATCHES$; ++m) {
%pp&many%     forward_pass(m);
%pp&many%     if (m >= warm_up) backward_pass(m - warm_up);
%pp&many%   }
%pp&many%   for (int m = $MICRO_BATCHES$ - warm_up; m < $MICRO_BATCHES$; ++m) backward_pass(m);
%pp% }
)text";

const char* const kRun = R"text(

%reference% // The same model on one rank.
%reference% std::map<std::string, Tensor> reference() {
%reference%   Rank one{.tp = 1};
%reference%   self = &one;
%reference&!pp%   train();
%reference&pp%   make_weights(-1);
%reference&pp&many%   for (int m = 0; m < $MICRO_BATCHES$; ++m) {
%reference&pp&!many%   {
%reference&pp&!wide%     Tensor x = batch($DATA$$M_ARGUMENT$);
%reference&pp&!wide%     for (int stage = 0; stage < $PP$; ++stage) x = forward(stage, x);
%reference&pp&!wide%     backward(x, loss_gradient(x$M_ARGUMENT$)$NO_RETAIN$);
%reference&pp&wide%     Tensors x{batch($DATA$$M_ARGUMENT$)};
%reference&pp&wide%     for (int stage = 0; stage < $PP$; ++stage) x = forward(stage, x);
%reference&pp&wide%     backward(x, {loss_gradient(x[0]$M_ARGUMENT$)}$NO_RETAIN$);
%reference&pp%   }
%reference%   return one.weights;
%reference% }
%reference% 
// All ranks' step; what it comes to.
std::string run() {
%ranks%   std::vector<Rank> ranks($WORLD$);
%pp%   for (int a = 0; a < $WORLD$; ++a)
%pp%     for (int b = 0; b < $WORLD$; ++b) channels[{a, b}];
%ranks%   std::vector<std::thread> threads;
%ranks%   for (int me = 0; me < $WORLD$; ++me)
%ranks%     threads.emplace_back([me, &ranks] {
%ranks%       self = &ranks[me];
%ranks%       self->me = me;
%ranks&error|pp%       try {
%ranks&error|pp%         train();
%ranks&!error&!pp%       train();
%ranks&error%       } catch (const Failure& failure) {
%ranks&error%         self->failure = failure.kind;
%ranks&error%         self->words = failure.what();
%pp%       } catch (const PeerLost&) {  // another rank has failed
%ranks&error|pp%       }
%pp%       for (int peer = 0; peer < $WORLD$; ++peer) channels[{me, peer}].close();
%tp&error&!pp%       group.meet.arrive_and_drop();
%tp&error&pp%       groups[self->stage()].meet.arrive_and_drop();
%ranks%     });
%ranks%   for (std::thread& thread : threads) thread.join();
%!ranks%   std::vector<Rank> ranks(1);
%!ranks%   self = &ranks[0];
%!ranks&error%   try {
%!ranks&error%     train();
%!ranks&error%   } catch (const Failure& failure) {
%!ranks&error%     self->failure = failure.kind;
%!ranks&error%     self->words = failure.what();
%!ranks&error%   }
%!ranks&!error%   train();
%error%   for (const Rank& rank : ranks)
%error%     if (!rank.failure.empty()) return "ERROR " + rank.failure + ": " + rank.words;
%error%   return "no error (gradients are not compared here)";
%missing%   std::string missing;
%missing%   for (const Rank& rank : ranks)
%missing%     for (const auto& [name, w] : rank.weights)
%missing%       if (!w->stop_gradient && !w->grad) missing += " " + name + "@" + std::to_string($RANK_NUMBER$);
%missing%   return missing.empty() ? "every parameter has a gradient" : "MISSING_GRAD:" + missing;
%reference%   const auto expected = reference();
%reference%   double worst = 0;
%reference%   std::string where;
%reference%   for (Rank& rank : ranks) {
%reference%     self = &rank;
%reference%     for (const Parameter& p : parameters) {
%reference&pp%       if (p.stage != rank.stage()) continue;
%reference&frozen%       if (!p.is_trainable) continue;
%reference&split%       const Tensor right = shard(p, expected.at(p.name)->grad->memory->numbers);
%reference&!split%       const Tensor right = handle(expected.at(p.name)->grad);
%reference%       double off = 0, largest = 0;
%reference%       for (std::size_t i = 0; i < numbers(right).size(); ++i) {
%reference%         off = std::max(off, std::abs(rank.weights.at(p.name)->grad->memory->numbers[i] - numbers(right)[i]));
%reference%         largest = std::max(largest, std::abs(numbers(right)[i]));
%reference%       }
%reference%       if (off / largest <= worst) continue;
%reference%       worst = off / largest;
%reference%       where = std::string(p.name) + " on rank " + std::to_string(rank.me);
%reference%     }
%reference%   }
%reference%   if (worst <= 1e-3) return "gradients agree with those of one rank";
%reference%   return "WRONG_GRAD: " + where + " is off by " + std::to_string(worst) + " x its largest entry";
}
)text";

}  // namespace culprit::cpp_pieces
