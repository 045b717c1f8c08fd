// The element-wise kernels. Each is put on `stream` and returns; elements are `dtype`, arithmetic
// is float32, rounded once when stored. Errors: SetupError when a launch is refused.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "tensor/dtype.hpp"

namespace culprit::cuda {

// As the operations of the same names in tensor/backend.hpp.
void add(DType dtype, cudaStream_t stream, float alpha, const std::byte* a, float beta,
         const std::byte* b, std::byte* c, std::int64_t num_elements);
void scale(DType dtype, cudaStream_t stream, float alpha, const std::byte* a, std::byte* c,
           std::int64_t num_elements);
void multiply(DType dtype, cudaStream_t stream, float alpha, const std::byte* a, const std::byte* b,
              std::byte* c, std::int64_t num_elements);
void fill(DType dtype, cudaStream_t stream, float value, std::byte* c, std::int64_t num_elements);
void spread(DType dtype, cudaStream_t stream, const std::byte* a, float divisor, std::byte* c,
            std::int64_t num_elements);

// `partial` is scratch for kPartialSums floats; the order of the additions depends on num_elements
// alone.
inline constexpr int kPartialSums = 256;
void sum(DType dtype, cudaStream_t stream, const std::byte* a, float divisor, std::byte* c,
         float* partial, std::int64_t num_elements);

// `rows` rows of `cols` elements, from a matrix of `from_cols` columns to one of `to_cols`.
void copy_rows(DType dtype, cudaStream_t stream, const std::byte* from, std::int64_t from_cols,
               std::byte* to, std::int64_t to_cols, std::int64_t rows, std::int64_t cols);

// The memory of a collective's members, passed by value to one kernel.
inline constexpr std::size_t kMostMembers = 64;
struct Members {
  const std::byte* mine[kMostMembers];
  std::byte* result[kMostMembers];
  int num_mine = 0;
  int num_results = 0;

  // Errors: SetupError where a kernel takes no more.
  void add_mine(const std::byte* memory) { mine[next(num_mine)] = memory; }
  void add_result(std::byte* memory) { result[next(num_results)] = memory; }

 private:
  static std::size_t next(int& count) {
    if (static_cast<std::size_t>(count) >= kMostMembers)
      throw SetupError("a collective on GPUs takes at most " + std::to_string(kMostMembers) +
                       " ranks in one group; choose fewer (--tp, --pp)");
    return static_cast<std::size_t>(count++);
  }
};
// Every result = the sum of all `mine` in member order; each element is read once a member before
// it is written, so a result may be its own member's `mine`.
void sum_members(DType dtype, cudaStream_t stream, const Members& members,
                 std::int64_t num_elements);
// Every result = all `mine` (num_elements each) in member order.
void gather_members(DType dtype, cudaStream_t stream, const Members& members,
                    std::int64_t num_elements);

}  // namespace culprit::cuda
