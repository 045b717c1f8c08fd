// A tensor-parallel linear step and all-reduces through this engine and NCCL, against the same
// calls by hand, in one run.
//   nccl_benchmark [RANKS]      needs as many GPUs; every time is a median
#include <fmt/format.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>

#include "autograd/backward.hpp"
#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "by_hand.hpp"
#include "cuda/nccl_communicators.hpp"
#include "filled_tensor.hpp"
#include "measure.hpp"
#include "parallel/regions.hpp"
#include "runtime/open_runtime.hpp"

namespace culprit {
namespace {

using namespace by_hand;

struct Job {
  int ranks;
  Runtime& runtime;
  std::vector<ncclComm_t> comms;   // NCCL's defaults
  std::vector<ncclComm_t> beside;  // as the engine has them for a sum beside a product

  std::vector<int> members() const {
    std::vector<int> list;
    for (int rank = 0; rank < ranks; ++rank) list.push_back(rank);
    return list;
  }
};

void all_reduce(const Job& job, std::int64_t bytes) {
  const auto world = job.runtime.make_world(job.ranks);
  std::vector<double> result;
  run_ranks(job.ranks, [&](int rank, std::barrier<>& together) {
    const auto backend = job.runtime.make_backend(rank, DType::kFloat32);
    const auto comm = world->group(0, job.members(), rank, *backend);
    ByHand hand(rank, job.comms[static_cast<std::size_t>(rank)]);
    const std::int64_t count = bytes / 4;
    std::byte *mine = backend->allocate(count), *other = backend->allocate(count);
    backend->fill(0.0F, mine, count);
    backend->fill(0.0F, other, count);
    float value = 0.0F;
    const auto finish = [&] { backend->download(mine, {&value, 1}); };
    finish();
    const auto medians =
        measure(together,
                {{[&] {
                    comm->all_reduce({mine, count}, "benchmark");
                  },
                  finish},
                 {[&] {
                    nccl(ncclAllReduce(other, other, static_cast<std::size_t>(count), ncclFloat32,
                                       ncclSum, hand.comm, hand.stream));
                  },
                  [&] { hand.wait(); }}},
                9, bytes < (16 << 20) ? 200 : 20);
    if (rank == 0) result = medians;
    backend->deallocate(mine, count);
    backend->deallocate(other, count);
    world->finished(rank);
  });
  fmt::print("{:>12} {:>10.2f} {:>10.2f} {:>8.3f}\n", bytes, result[0] * 1e6, result[1] * 1e6,
             result[0] / result[1]);
}

void column_linear(const Job& job, int tokens, int in, int out) {
  const int shard = out / job.ranks;
  const auto world = job.runtime.make_world(job.ranks);
  std::vector<double> result;
  run_ranks(job.ranks, [&](int rank, std::barrier<>& together) {
    const auto backend = job.runtime.make_backend(rank, DType::kFloat16);
    const auto comm = world->group(0, job.members(), rank, *backend);
    const TensorParallelGroup group{.comm = comm.get(), .rank = rank, .size = job.ranks};
    Context context(*backend, rules_of("paddle@3.3.1"));
    const auto filled = [&](Shape shape) { return filled_tensor(context, shape); };
    const auto x = filled({tokens, in}), w = filled({in, shard}), dy = filled({tokens, shard});
    const auto y = filled({tokens, shard}), dx = filled({tokens, in}), dw = filled({in, shard});
    float value = 0.0F;
    const auto finish = [&] { backend->download(dw->data(), {&value, 1}); };
    finish();
    ByHand hand(rank, job.comms[static_cast<std::size_t>(rank)]);
    const auto forward = [&] {
      hand.matmul(x->data(), false, w->data(), false, y->data(), tokens, shard, in);
    };
    const auto dgrad = [&] {
      hand.matmul(dy->data(), false, w->data(), true, dx->data(), tokens, in, shard);
    };
    const auto wgrad = [&] {
      hand.matmul(x->data(), true, dy->data(), false, dw->data(), in, shard, tokens);
    };
    // The same with all that the engine does for the sum to run beside the product.
    const ncclComm_t beside = job.beside[static_cast<std::size_t>(rank)];
    const auto count = static_cast<std::size_t>(tokens) * static_cast<std::size_t>(in);
    void* registered = nullptr;
    nccl(ncclMemAlloc(&registered, 2 * count));
    ncclWindow_t window{};
    nccl(ncclCommWindowRegister(beside, registered, 2 * count, &window, NCCL_WIN_COLL_SYMMETRIC));
    int least = 0, greatest = 0, multiprocessors = 0;
    by_hand::cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    by_hand::cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, rank));
    cudaStream_t first{};
    by_hand::cuda(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, greatest));
    cudaEvent_t begins{};
    by_hand::cuda(cudaEventCreateWithFlags(&begins, cudaEventDisableTiming));
    const auto medians = measure(
        together,
        {{[&] {
            const Tensor input(x, "x", /*stop_gradient=*/false),
                weight(w, "w", /*stop_gradient=*/false);
            backward(context, {overlap_linear(context, group, /*skip_copy=*/true, input, weight)},
                     {context.wrap(dy)});
          },
          finish},
         {[&] {
            forward();
            dgrad();
            by_hand::cuda(cudaEventRecord(hand.ready, hand.stream));
            by_hand::cuda(cudaStreamWaitEvent(hand.comm_stream, hand.ready, 0));
            nccl(ncclAllReduce(dx->data(), dx->data(),
                               static_cast<std::size_t>(tokens) * static_cast<std::size_t>(in),
                               ncclFloat16, ncclSum, hand.comm, hand.comm_stream));
            by_hand::cuda(cudaEventRecord(hand.done, hand.comm_stream));
            wgrad();
            by_hand::cuda(cudaStreamWaitEvent(hand.stream, hand.done, 0));
          },
          [&] { hand.wait(); }},
         {[&] {
            forward();
            hand.matmul(dy->data(), false, w->data(), true, registered, tokens, in, shard);
            by_hand::cuda(cudaEventRecord(hand.ready, hand.stream));
            by_hand::cuda(cudaStreamWaitEvent(first, hand.ready, 0));
            by_hand::cuda(cudaEventRecord(begins, first));
            nccl(ncclAllReduce(registered, registered, count, ncclFloat16, ncclSum, beside, first));
            by_hand::cuda(cudaEventRecord(hand.done, first));
            by_hand::cuda(cudaStreamWaitEvent(hand.stream, begins, 0));
            blas(cublasSetSmCountTarget(hand.handle,
                                        multiprocessors - culprit::cuda::kLeftFreeMultiprocessors));
            wgrad();
            blas(cublasSetSmCountTarget(hand.handle, 0));
            by_hand::cuda(cudaStreamWaitEvent(hand.stream, hand.done, 0));
          },
          [&] {
            hand.wait();
            by_hand::cuda(cudaStreamSynchronize(first));
          }},
         {[&] {
            forward();
            dgrad();
            wgrad();
          },
          [&] { hand.wait(); }}},
        15, 20);
    if (rank == 0) result = medians;
    finish();
    nccl(ncclCommWindowDeregister(beside, window));
    together.arrive_and_wait();
    nccl(ncclMemFree(registered));
    world->finished(rank);
  });
  fmt::print("{:>7} {:>6} -> {:<6} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.3f} {:>10.3f} {:>13.3f}\n",
             tokens, in, out, result[0] * 1e6, result[1] * 1e6, result[2] * 1e6, result[3] * 1e6,
             result[0] / result[1], result[0] / result[2], result[0] / result[3]);
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  using namespace culprit;
  try {
    const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
    const auto runtime = open_runtime({.device = "cuda", .comm = "nccl"});
    fmt::print("{}\n", runtime->description());
    runtime->make_world(ranks);
    Job job{ranks, *runtime, std::vector<ncclComm_t>(static_cast<std::size_t>(ranks)),
            std::vector<ncclComm_t>(static_cast<std::size_t>(ranks))};
    nccl(ncclCommInitAll(job.comms.data(), ranks, nullptr));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.maxCTAs = culprit::cuda::kBesideMultiprocessors;
    config.cgaClusterSize = 0;
    ncclUniqueId id;
    nccl(ncclGetUniqueId(&id));
    nccl(ncclGroupStart());
    for (int rank = 0; rank < ranks; ++rank) {
      by_hand::cuda(cudaSetDevice(rank));
      nccl(ncclCommInitRankConfig(&job.beside[static_cast<std::size_t>(rank)], ranks, id, rank,
                                  &config));
    }
    nccl(ncclGroupEnd());
    fmt::print(
        "\nall-reduce, float32, {} ranks: us through this project, us of a loop of ncclAllReduce\n"
        "       bytes       here       loop    ratio\n",
        ranks);
    for (std::int64_t bytes = 1 << 10; bytes <= 256 << 20; bytes *= 4) all_reduce(job, bytes);
    fmt::print(
        "\ncolumn-parallel linear, tp {}, float16, forward + dgrad + all-reduce beside wgrad: us "
        "through autograd, by hand, by hand with the engine's way of running the sum beside the "
        "product, the three products alone\n tokens   in  -> out (all)    here    by hand     "
        "same way   products  here/hand   here/same  here/products\n",
        ranks);
    column_linear(job, 2048, 4096, 4096);
    column_linear(job, 2048, 4096, 8192);
    column_linear(job, 8192, 8192, 28672);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_status();
  }
}
