// What a runtime costs: copies, collectives among ranks on one device, the host's share of
// autograd, and a linear layer's step against the three products alone. One table a subject; every
// time is a median.
//   runtime_benchmark [cpu|cuda[:INDEX]]
#include <fmt/format.h>

#include <barrier>
#include <chrono>
#include <cstdio>
#include <functional>

#include "autograd/backward.hpp"
#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "filled_tensor.hpp"
#include "measure.hpp"
#include "runtime/open_runtime.hpp"

namespace culprit {
namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Waits until all that the backend was given is done.
void finish(Backend& backend, std::byte* any_element) {
  float value = 0.0F;
  backend.download(any_element, {&value, 1});
}

// As measure(), of one rank.
std::vector<double> measure_alone(const std::vector<Side>& kinds, int rounds, int repeats) {
  std::barrier<> alone(1);
  return measure(alone, kinds, rounds, repeats);
}

constexpr std::int64_t kLargest = 256 << 20;  // bytes

double copy_bandwidth(Runtime& runtime, std::int64_t bytes) {
  const auto backend = runtime.make_backend(0, DType::kFloat32);
  const std::int64_t count = bytes / 4;
  std::byte *a = backend->allocate(count), *b = backend->allocate(count);
  backend->fill(1.5F, a, count);
  const double time = measure_alone(
      {{[&] { backend->copy(a, b, count); }, [&] { finish(*backend, b); }}}, 9, 20)[0];
  backend->deallocate(a, count);
  backend->deallocate(b, count);
  return 2.0 * static_cast<double>(bytes) / time;
}

// Median seconds of an all-reduce of `bytes` a rank.
double all_reduce_time(Runtime& runtime, int ranks, std::int64_t bytes, int repeats) {
  const auto world = runtime.make_world(ranks);
  double result = 0.0;
  run_ranks(ranks, [&](int rank, std::barrier<>& together) {
    const auto backend = runtime.make_backend(rank, DType::kFloat32);
    std::vector<int> members;
    for (int r = 0; r < ranks; ++r) members.push_back(r);
    const auto comm = world->group(0, members, rank, *backend);
    const std::int64_t count = bytes / 4;
    std::byte* data = backend->allocate(count);
    backend->fill(0.0F, data, count);
    const double time = measure(together,
                                {{[&] {
                                    comm->all_reduce({data, count}, "benchmark");
                                  },
                                  [&] { finish(*backend, data); }}},
                                9, repeats)[0];
    if (rank == 0) result = time;
    backend->deallocate(data, count);
    world->finished(rank);
  });
  return result;
}

void print_all_reduce(Runtime& runtime) {
  const double copy = copy_bandwidth(runtime, kLargest);
  fmt::print("copy within the device, {} MiB: {:.0f} GB/s, read and written\n\n", kLargest >> 20,
             copy / 1e9);
  fmt::print(
      "all-reduce, float32, ranks on one device: least traffic (each rank's memory read and "
      "written once) over time\n");
  fmt::print("ranks        bytes        us     GB/s   of copy\n");
  for (const int ranks : {2, 4})
    for (std::int64_t bytes = 1 << 10; bytes <= kLargest; bytes *= 8) {
      const double time = all_reduce_time(runtime, ranks, bytes, bytes < (16 << 20) ? 200 : 10);
      const double bandwidth = 2.0 * ranks * static_cast<double>(bytes) / time;
      fmt::print("{:>5} {:>12} {:>9.2f} {:>8.1f} {:>8.1f}%\n", ranks, bytes, time * 1e6,
                 bandwidth / 1e9, 100 * bandwidth / copy);
    }
}

// Host time a node of a forward and backward through a chain of the smallest operators, without and
// with autograd.
void print_host_overhead(Runtime& runtime) {
  constexpr int kNodes = 400;
  const auto backend = runtime.make_backend(0, DType::kFloat32);
  std::byte* x = backend->allocate(8);
  backend->fill(1.0F, x, 8);
  std::vector<std::byte*> results(2 * kNodes);
  for (auto& result : results) result = backend->allocate(8);
  // Timed without waiting for the device, which is waited for before each round.
  const auto host_time = [&](const auto& body) {
    std::vector<double> times;
    for (int round = 0; round < 30; ++round) {
      finish(*backend, x);
      const auto start = Clock::now();
      body();
      times.push_back(seconds_since(start));
    }
    return median(std::move(times));
  };
  const double raw = host_time([&] {
    for (auto* result : results) backend->scale(1.0F, x, result, 8);
  });
  for (auto* result : results) backend->deallocate(result, 8);
  Context context(*backend, rules_of("paddle@3.3.1"));
  const double with_autograd = host_time([&] {
    auto impl = context.allocate({1, 8});
    backend->fill(1.0F, impl->data(), 8);
    Tensor y(std::move(impl), "x", /*stop_gradient=*/false);
    for (int i = 0; i < kNodes; ++i) y = scale(context, y, 1.0);
    backward(context, {y}, {Tensor()});
  });
  fmt::print(
      "\nhost time, {} nodes forward and backward: {:.2f} us a node (2 calls), the calls alone "
      "{:.2f} us; autograd {:.2f} us\n",
      kNodes, with_autograd / kNodes * 1e6, raw / kNodes * 1e6,
      (with_autograd - raw) / kNodes * 1e6);
  backend->deallocate(x, 8);
}

// One linear layer's forward and both products of its backward, through autograd and as three
// calls.
void print_linear(Runtime& runtime, std::int64_t tokens, std::int64_t in, std::int64_t out) {
  const auto backend = runtime.make_backend(0, DType::kFloat16);
  Context context(*backend, rules_of("paddle@3.3.1"));
  const auto filled = [&](Shape shape) { return filled_tensor(context, shape); };
  const auto x = filled({tokens, in}), w = filled({in, out}), dy = filled({tokens, out});
  const auto y = filled({tokens, out}), dx = filled({tokens, in}), dw = filled({in, out});
  const auto wait = [&] { finish(*backend, dw->data()); };
  const auto times = measure_alone(
      {{[&] {
          backend->matmul(x->data(), false, w->data(), false, y->data(), tokens, out, in);
          backend->matmul(dy->data(), false, w->data(), true, dx->data(), tokens, in, out);
          backend->matmul(x->data(), true, dy->data(), false, dw->data(), in, out, tokens);
        },
        wait},
       {[&] {
          const Tensor input(x, "x", /*stop_gradient=*/false),
              weight(w, "w", /*stop_gradient=*/false);
          backward(context, {matmul(context, input, weight)}, {context.wrap(dy)});
        },
        wait}},
      15, 20);
  const double raw = times[0], engine = times[1];
  fmt::print(
      "linear step, float16, {} tokens, {} -> {}: {:.1f} us through autograd, {:.1f} us the three "
      "products ({:.1f} TFLOP/s), ratio {:.3f}\n",
      tokens, in, out, engine * 1e6, raw * 1e6,
      6.0 * static_cast<double>(tokens) * static_cast<double>(in) * static_cast<double>(out) / raw /
          1e12,
      engine / raw);
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  using namespace culprit;
  try {
    const auto runtime = open_runtime({.device = argc > 1 ? argv[1] : "cpu"});
    fmt::print("{}\n", runtime->description());
    print_all_reduce(*runtime);
    print_host_overhead(*runtime);
    print_linear(*runtime, 2048, 4096, 2048);
    print_linear(*runtime, 2048, 4096, 4096);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_status();
  }
}
