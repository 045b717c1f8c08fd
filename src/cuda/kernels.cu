#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/check.hpp"
#include "cuda/kernels.hpp"

namespace culprit::cuda {
namespace {

struct Float32 {
  using Stored = float;
  static __device__ float load(float stored) { return stored; }
  static __device__ float store(float value) { return value; }
};
struct Float16 {
  using Stored = __half;
  static __device__ float load(__half stored) { return __half2float(stored); }
  static __device__ __half store(float value) { return __float2half_rn(value); }
};
struct BFloat16 {
  using Stored = __nv_bfloat16;
  static __device__ float load(__nv_bfloat16 stored) { return __bfloat162float(stored); }
  static __device__ __nv_bfloat16 store(float value) { return __float2bfloat16_rn(value); }
};

// What a thread loads and stores at once: 16 bytes, or one element where memory or count don't
// allow more.
template <class Type, bool Wide>
struct alignas(Wide ? 16 : sizeof(typename Type::Stored)) Pack {
  static constexpr int kSize = Wide ? 16 / static_cast<int>(sizeof(typename Type::Stored)) : 1;
  typename Type::Stored values[kSize];
};

constexpr int kThreads = 256;
constexpr int kMostBlocks = 132 * 16;  // several waves on the largest devices; the loops stride

unsigned blocks_for(std::int64_t num_packs) {
  const std::int64_t blocks = (num_packs + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}
template <class Type>
bool is_wide(std::int64_t num_elements, std::uintptr_t all_addresses) {
  return num_elements % Pack<Type, true>::kSize == 0 && all_addresses % 16 == 0;
}
std::uintptr_t address(const std::byte* memory) { return reinterpret_cast<std::uintptr_t>(memory); }
__device__ std::int64_t first_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

// Calls `body` with the type's description.
template <class Body>
void with_type(DType dtype, Body body) {
  if (dtype == DType::kFloat32) body(Float32{});
  if (dtype == DType::kFloat16) body(Float16{});
  if (dtype == DType::kBFloat16) body(BFloat16{});
  check(cudaGetLastError(), "launch of a kernel");
}

// Element-wise: what an operation makes of the elements at one place.
struct AddOperation {
  float alpha, beta;
  __device__ float operator()(float x, float y) const { return alpha * x + beta * y; }
};
struct ScaleOperation {
  float alpha;
  __device__ float operator()(float x, float) const { return alpha * x; }
};
struct MultiplyOperation {
  float alpha;
  __device__ float operator()(float x, float y) const { return alpha * x * y; }
};

template <class Type, bool Wide, bool TwoInputs, class Operation>
__global__ void map_kernel(Operation operation, const std::byte* a, const std::byte* b,
                           std::byte* c, std::int64_t num_packs) {
  using P = Pack<Type, Wide>;
  for (std::int64_t i = first_index(); i < num_packs; i += stride()) {
    const P x = reinterpret_cast<const P*>(a)[i];
    const P y = TwoInputs ? reinterpret_cast<const P*>(b)[i] : x;
    P z;
#pragma unroll
    for (int j = 0; j < P::kSize; ++j)
      z.values[j] = Type::store(operation(Type::load(x.values[j]), Type::load(y.values[j])));
    reinterpret_cast<P*>(c)[i] = z;
  }
}

template <bool TwoInputs, class Operation>
void map(DType dtype, cudaStream_t stream, Operation operation, const std::byte* a,
         const std::byte* b, std::byte* c, std::int64_t num_elements) {
  if (num_elements == 0) return;
  with_type(dtype, [&](auto type) {
    using Type = decltype(type);
    if (is_wide<Type>(num_elements, address(a) | address(b) | address(c))) {
      const std::int64_t packs = num_elements / Pack<Type, true>::kSize;
      map_kernel<Type, true, TwoInputs>
          <<<blocks_for(packs), kThreads, 0, stream>>>(operation, a, b, c, packs);
    } else {
      map_kernel<Type, false, TwoInputs>
          <<<blocks_for(num_elements), kThreads, 0, stream>>>(operation, a, b, c, num_elements);
    }
  });
}

template <class Type>
__global__ void fill_kernel(float value, const std::byte* divided, float divisor, std::byte* c,
                            std::int64_t num_elements) {
  if (divided)
    value = Type::load(*reinterpret_cast<const typename Type::Stored*>(divided)) / divisor;
  const auto stored = Type::store(value);
  for (std::int64_t i = first_index(); i < num_elements; i += stride())
    reinterpret_cast<typename Type::Stored*>(c)[i] = stored;
}

// The sum over a block's threads, in thread 0.
__device__ float block_sum(float value) {
  __shared__ float shared[kThreads];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

template <class Type>
__global__ void partial_sum_kernel(const std::byte* a, float* partial, std::int64_t num_elements) {
  float sum = 0.0F;
  for (std::int64_t i = first_index(); i < num_elements; i += stride())
    sum += Type::load(reinterpret_cast<const typename Type::Stored*>(a)[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
template <class Type>
__global__ void final_sum_kernel(const float* partial, int num_partial, float divisor,
                                 std::byte* c) {
  const float sum =
      block_sum(static_cast<int>(threadIdx.x) < num_partial ? partial[threadIdx.x] : 0.0F);
  if (threadIdx.x == 0) *reinterpret_cast<typename Type::Stored*>(c) = Type::store(sum / divisor);
}
static_assert(kPartialSums <= kThreads, "the last block adds one partial sum a thread");

template <class Type>
__global__ void copy_rows_kernel(const std::byte* from, std::int64_t from_cols, std::byte* to,
                                 std::int64_t to_cols, std::int64_t rows, std::int64_t cols) {
  using Stored = typename Type::Stored;
  for (std::int64_t i = first_index(); i < rows * cols; i += stride()) {
    const std::int64_t row = i / cols, col = i - row * cols;
    reinterpret_cast<Stored*>(to)[row * to_cols + col] =
        reinterpret_cast<const Stored*>(from)[row * from_cols + col];
  }
}

// Count 0: as many members as `members` says; else that many, so that all loads are under way
// before the first addition.
template <class Type, bool Wide, int Count>
__global__ void sum_members_kernel(const __grid_constant__ Members members,
                                   std::int64_t num_packs) {
  using P = Pack<Type, Wide>;
  const int count = Count == 0 ? members.num_mine : Count;
  for (std::int64_t i = first_index(); i < num_packs; i += stride()) {
    float sum[P::kSize] = {};
    if constexpr (Count > 0) {
      P part[Count];
#pragma unroll
      for (int m = 0; m < Count; ++m) part[m] = reinterpret_cast<const P*>(members.mine[m])[i];
#pragma unroll
      for (int j = 0; j < P::kSize; ++j) sum[j] = Type::load(part[0].values[j]);
#pragma unroll
      for (int m = 1; m < Count; ++m)
#pragma unroll
        for (int j = 0; j < P::kSize; ++j) sum[j] += Type::load(part[m].values[j]);
    } else {
      for (int m = 0; m < count; ++m) {
        const P part = reinterpret_cast<const P*>(members.mine[m])[i];
#pragma unroll
        for (int j = 0; j < P::kSize; ++j)
          sum[j] = m == 0 ? Type::load(part.values[j]) : sum[j] + Type::load(part.values[j]);
      }
    }
    P total;
#pragma unroll
    for (int j = 0; j < P::kSize; ++j) total.values[j] = Type::store(sum[j]);
    for (int m = 0; m < members.num_results; ++m)
      reinterpret_cast<P*>(members.result[m])[i] = total;
  }
}

template <class Type, bool Wide>
void launch_sum_members(cudaStream_t stream, const Members& members, std::int64_t num_elements) {
  const std::int64_t packs = num_elements / Pack<Type, Wide>::kSize;
  const unsigned blocks = blocks_for(packs);
  switch (members.num_mine) {
    case 2:
      return sum_members_kernel<Type, Wide, 2><<<blocks, kThreads, 0, stream>>>(members, packs);
    case 4:
      return sum_members_kernel<Type, Wide, 4><<<blocks, kThreads, 0, stream>>>(members, packs);
    default:
      return sum_members_kernel<Type, Wide, 0><<<blocks, kThreads, 0, stream>>>(members, packs);
  }
}

template <class Type, bool Wide>
__global__ void gather_members_kernel(const __grid_constant__ Members members,
                                      std::int64_t num_packs) {
  using P = Pack<Type, Wide>;
  const int part = static_cast<int>(blockIdx.y);
  for (std::int64_t i = first_index(); i < num_packs; i += stride()) {
    const P value = reinterpret_cast<const P*>(members.mine[part])[i];
    for (int m = 0; m < members.num_results; ++m)
      reinterpret_cast<P*>(members.result[m])[part * num_packs + i] = value;
  }
}

std::uintptr_t addresses(const Members& members) {
  std::uintptr_t all = 0;
  for (int m = 0; m < members.num_mine; ++m) all |= address(members.mine[m]);
  for (int m = 0; m < members.num_results; ++m) all |= address(members.result[m]);
  return all;
}

}  // namespace

void add(DType dtype, cudaStream_t stream, float alpha, const std::byte* a, float beta,
         const std::byte* b, std::byte* c, std::int64_t num_elements) {
  map<true>(dtype, stream, AddOperation{alpha, beta}, a, b, c, num_elements);
}
void scale(DType dtype, cudaStream_t stream, float alpha, const std::byte* a, std::byte* c,
           std::int64_t num_elements) {
  map<false>(dtype, stream, ScaleOperation{alpha}, a, a, c, num_elements);
}
void multiply(DType dtype, cudaStream_t stream, float alpha, const std::byte* a, const std::byte* b,
              std::byte* c, std::int64_t num_elements) {
  map<true>(dtype, stream, MultiplyOperation{alpha}, a, b, c, num_elements);
}
void fill(DType dtype, cudaStream_t stream, float value, std::byte* c, std::int64_t num_elements) {
  if (num_elements == 0) return;
  with_type(dtype, [&](auto type) {
    fill_kernel<decltype(type)>
        <<<blocks_for(num_elements), kThreads, 0, stream>>>(value, nullptr, 1.0F, c, num_elements);
  });
}
void spread(DType dtype, cudaStream_t stream, const std::byte* a, float divisor, std::byte* c,
            std::int64_t num_elements) {
  if (num_elements == 0) return;
  with_type(dtype, [&](auto type) {
    fill_kernel<decltype(type)>
        <<<blocks_for(num_elements), kThreads, 0, stream>>>(0.0F, a, divisor, c, num_elements);
  });
}
void sum(DType dtype, cudaStream_t stream, const std::byte* a, float divisor, std::byte* c,
         float* partial, std::int64_t num_elements) {
  const unsigned wanted = blocks_for(num_elements);
  const unsigned blocks = wanted < kPartialSums ? (wanted > 0 ? wanted : 1) : kPartialSums;
  with_type(dtype, [&](auto type) {
    using Type = decltype(type);
    partial_sum_kernel<Type><<<blocks, kThreads, 0, stream>>>(a, partial, num_elements);
    final_sum_kernel<Type>
        <<<1, kThreads, 0, stream>>>(partial, static_cast<int>(blocks), divisor, c);
  });
}
void copy_rows(DType dtype, cudaStream_t stream, const std::byte* from, std::int64_t from_cols,
               std::byte* to, std::int64_t to_cols, std::int64_t rows, std::int64_t cols) {
  if (rows * cols == 0) return;
  with_type(dtype, [&](auto type) {
    copy_rows_kernel<decltype(type)><<<blocks_for(rows * cols), kThreads, 0, stream>>>(
        from, from_cols, to, to_cols, rows, cols);
  });
}
void sum_members(DType dtype, cudaStream_t stream, const Members& members,
                 std::int64_t num_elements) {
  if (num_elements == 0) return;
  with_type(dtype, [&](auto type) {
    using Type = decltype(type);
    if (is_wide<Type>(num_elements, addresses(members)))
      launch_sum_members<Type, true>(stream, members, num_elements);
    else
      launch_sum_members<Type, false>(stream, members, num_elements);
  });
}
void gather_members(DType dtype, cudaStream_t stream, const Members& members,
                    std::int64_t num_elements) {
  if (num_elements == 0) return;
  with_type(dtype, [&](auto type) {
    using Type = decltype(type);
    const auto launch = [&]<bool Wide>() {
      const std::int64_t packs = num_elements / Pack<Type, Wide>::kSize;
      const dim3 blocks(blocks_for(packs), static_cast<unsigned>(members.num_mine));
      gather_members_kernel<Type, Wide><<<blocks, kThreads, 0, stream>>>(members, packs);
    };
    if (is_wide<Type>(num_elements, addresses(members)))
      launch.template operator()<true>();
    else
      launch.template operator()<false>();
  });
}

}  // namespace culprit::cuda
