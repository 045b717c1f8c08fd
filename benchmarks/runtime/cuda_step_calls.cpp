#include "cuda_step_calls.hpp"

#include "by_hand.hpp"
#include "cuda/blas_type.hpp"
#include "cuda/kernels.hpp"
#include "cuda/nccl_type.hpp"

namespace culprit {
namespace {

std::vector<ncclComm_t> communicators_of(const std::vector<int>& devices) {
  std::vector<ncclComm_t> comms(devices.size());
  by_hand::nccl(ncclCommInitAll(comms.data(), static_cast<int>(devices.size()), devices.data()));
  return comms;
}

// Products, element-wise operations, all-reduces and receives are on one stream. Sends are on a
// stream of their own for each way: on the first they would hold up the products until the
// receiver has come, and two stages that send to each other would wait for ever.
class CudaStepCalls final : public StepCalls {
 public:
  CudaStepCalls(const StepShape& shape, int tp_rank, DType dtype, const NcclPipes& pipes)
      : dtype_(dtype), hand_(shape.stage * shape.tp + tp_rank, pipes.tensor(shape.stage, tp_rank)) {
    hand_.type = cuda::blas_type(dtype);
    // As the engine's backend has it, or cuBLAS may choose other kernels.
    by_hand::blas(cublasSetMathMode(
        hand_.handle, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
    void* partial = nullptr;
    by_hand::cuda(cudaMalloc(&partial, cuda::kPartialSums * sizeof(float)));
    partial_sums_ = static_cast<float*>(partial);
    int least = 0, greatest = 0;
    by_hand::cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    const int s = shape.stage;
    for (const Way way : {Way::kActivation, Way::kGradient}) {
      Direction& direction = directions_[static_cast<std::size_t>(way)];
      by_hand::cuda(
          cudaStreamCreateWithPriority(&direction.stream, cudaStreamNonBlocking, greatest));
      direction.sent.resize(static_cast<std::size_t>(StepByHand::num_slots(shape)));
      for (cudaEvent_t& sent : direction.sent)
        by_hand::cuda(cudaEventCreateWithFlags(&sent, cudaEventDisableTiming));
      const bool to_next = way == Way::kActivation;
      const bool has_next = s + 1 < shape.num_stages, has_previous = s > 0;
      End &next = to_next ? direction.out : direction.in,
          &previous = to_next ? direction.in : direction.out;
      next.peer = 1;  // the later stage is rank 1 of a pair
      if (has_next) next.comm = pipes.pair(way, s, tp_rank, 0);
      if (has_previous) previous.comm = pipes.pair(way, s - 1, tp_rank, 1);
    }
  }
  ~CudaStepCalls() override {
    wait();
    for (void* data : allocated_) cudaFree(data);
  }

  std::byte* allocate(std::int64_t num_elements) override {
    void* data = nullptr;
    by_hand::cuda(cudaMalloc(&data, static_cast<std::size_t>(num_elements) * size_of(dtype_)));
    allocated_.push_back(data);
    return static_cast<std::byte*>(data);
  }
  void matmul(const std::byte* a, bool transpose_a, const std::byte* b, bool transpose_b,
              std::byte* c, std::int64_t m, std::int64_t n, std::int64_t k) override {
    hand_.matmul(a, transpose_a, b, transpose_b, c, static_cast<int>(m), static_cast<int>(n),
                 static_cast<int>(k));
  }
  void copy(const std::byte* a, std::byte* c, std::int64_t n) override {
    by_hand::cuda(cudaMemcpyAsync(c, a, static_cast<std::size_t>(n) * size_of(dtype_),
                                  cudaMemcpyDeviceToDevice, hand_.stream));
  }
  void add(float alpha, const std::byte* a, float beta, const std::byte* b, std::byte* c,
           std::int64_t n) override {
    cuda::add(dtype_, hand_.stream, alpha, a, beta, b, c, n);
  }
  void scale(float alpha, const std::byte* a, std::byte* c, std::int64_t n) override {
    cuda::scale(dtype_, hand_.stream, alpha, a, c, n);
  }
  void multiply(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                std::int64_t n) override {
    cuda::multiply(dtype_, hand_.stream, alpha, a, b, c, n);
  }
  void fill(float value, std::byte* c, std::int64_t n) override {
    cuda::fill(dtype_, hand_.stream, value, c, n);
  }
  void sum(const std::byte* a, float divisor, std::byte* c, std::int64_t n) override {
    cuda::sum(dtype_, hand_.stream, a, divisor, c, partial_sums_, n);
  }
  void spread(const std::byte* a, float divisor, std::byte* c, std::int64_t n) override {
    cuda::spread(dtype_, hand_.stream, a, divisor, c, n);
  }
  void all_reduce(std::byte* c, std::int64_t n) override {
    if (alone) return;
    by_hand::nccl(ncclAllReduce(c, c, static_cast<std::size_t>(n), cuda::nccl_type(dtype_), ncclSum,
                                hand_.comm, hand_.stream));
  }
  void send(Way way, int slot, const std::byte* a, std::int64_t n) override {
    if (alone) return;
    const Direction& direction = directions_[static_cast<std::size_t>(way)];
    by_hand::cuda(cudaEventRecord(hand_.ready, hand_.stream));
    by_hand::cuda(cudaStreamWaitEvent(direction.stream, hand_.ready, 0));
    by_hand::nccl(ncclSend(a, static_cast<std::size_t>(n), cuda::nccl_type(dtype_),
                           direction.out.peer, direction.out.comm, direction.stream));
    by_hand::cuda(
        cudaEventRecord(direction.sent[static_cast<std::size_t>(slot)], direction.stream));
  }
  void await_sent(Way way, int slot) override {  // no wait where it was never recorded
    by_hand::cuda(cudaStreamWaitEvent(
        hand_.stream,
        directions_[static_cast<std::size_t>(way)].sent[static_cast<std::size_t>(slot)], 0));
  }
  void receive(Way way, std::byte* c, std::int64_t n) override {
    if (alone) return;
    const Direction& direction = directions_[static_cast<std::size_t>(way)];
    by_hand::nccl(ncclRecv(c, static_cast<std::size_t>(n), cuda::nccl_type(dtype_),
                           direction.in.peer, direction.in.comm, hand_.stream));
  }
  void wait() override {
    hand_.wait();
    for (const Direction& direction : directions_)
      by_hand::cuda(cudaStreamSynchronize(direction.stream));
  }

  bool alone = false;

 private:
  struct End {
    ncclComm_t comm = nullptr;
    int peer = 0;
  };
  struct Direction {
    cudaStream_t stream = nullptr;  // of its sends
    End in, out;
    std::vector<cudaEvent_t> sent;  // by slot
  };

  DType dtype_;
  by_hand::ByHand hand_;
  float* partial_sums_;
  Direction directions_[2];
  std::vector<void*> allocated_;
};

}  // namespace

NcclPipes::NcclPipes(int tp, int num_stages) : tp_(tp), num_stages_(num_stages) {
  for (int stage = 0; stage < num_stages && tp > 1; ++stage) {
    std::vector<int> devices;
    for (int r = 0; r < tp; ++r) devices.push_back(stage * tp + r);
    tensor_.push_back(communicators_of(devices));
  }
  for (int way = 0; way < 2; ++way)
    for (int stage = 0; stage + 1 < num_stages; ++stage)
      for (int r = 0; r < tp; ++r)
        pairs_.push_back(communicators_of({stage * tp + r, (stage + 1) * tp + r}));
}
NcclPipes::~NcclPipes() {
  for (const auto* list : {&tensor_, &pairs_})
    for (const auto& comms : *list)
      for (const ncclComm_t comm : comms) ncclCommAbort(comm);
}
ncclComm_t NcclPipes::tensor(int stage, int tp_rank) const {
  if (tp_ == 1) return nullptr;
  return tensor_.at(static_cast<std::size_t>(stage)).at(static_cast<std::size_t>(tp_rank));
}
std::size_t NcclPipes::pair_index(Way way, int earlier_stage, int tp_rank) const {
  return static_cast<std::size_t>(
      (static_cast<int>(way) * (num_stages_ - 1) + earlier_stage) * tp_ + tp_rank);
}
ncclComm_t NcclPipes::pair(Way way, int earlier_stage, int tp_rank, int end) const {
  return pairs_.at(pair_index(way, earlier_stage, tp_rank)).at(static_cast<std::size_t>(end));
}

std::unique_ptr<StepCalls> cuda_step_calls(const StepShape& shape, int tp_rank, DType dtype,
                                           const NcclPipes& pipes) {
  return std::make_unique<CudaStepCalls>(shape, tp_rank, dtype, pipes);
}

void set_alone(StepCalls& cuda_calls, bool alone) {
  static_cast<CudaStepCalls&>(cuda_calls).alone = alone;
}

}  // namespace culprit
