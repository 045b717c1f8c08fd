// Where a rank's memory lives and its arithmetic happens. One Backend a rank, used by that rank's
// thread alone. A backend knows memory and numbers, never gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/shape.hpp"

namespace culprit {

// What a rank's memory has gone through, counted by its backend.
struct MemoryCounters {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t copied_bytes = 0;  // by copy() alone: what a fix that copies costs
};

// Elements are float32, row-major and dense. Unless said otherwise outputs must not overlap inputs,
// and the sizes are the caller's responsibility (functions.cpp checks shapes before it calls).
class Backend {
 public:
  virtual ~Backend() = default;

  // Fresh uninitialised memory; owned by the caller until deallocate with the same size.
  virtual float* allocate(std::int64_t num_elements) = 0;
  virtual void deallocate(float* data, std::int64_t num_elements) noexcept = 0;

  // c[m,n] = op(a)[m,k] op(b)[k,n], where op transposes if asked (a is then [k,m], b [n,k]).
  virtual void matmul(const float* a, bool transpose_a, const float* b, bool transpose_b, float* c,
                      std::int64_t m, std::int64_t n, std::int64_t k) = 0;
  // c = alpha * a + beta * b; c may be a or b.
  virtual void add(float alpha, const float* a, float beta, const float* b, float* c,
                   std::int64_t num_elements) = 0;
  // c = alpha * a; c may be a.
  virtual void scale(float alpha, const float* a, float* c, std::int64_t num_elements) = 0;
  // c = alpha * a * b, element by element; c may be a or b.
  virtual void multiply(float alpha, const float* a, const float* b, float* c,
                        std::int64_t num_elements) = 0;
  virtual void fill(float value, float* c, std::int64_t num_elements) = 0;
  // c = a, counted as copied.
  virtual void copy(const float* a, float* c, std::int64_t num_elements) = 0;
  virtual float sum(const float* a, std::int64_t num_elements) = 0;
  // c[rows,cols] = columns [first, first + cols) of a[rows,a_cols].
  virtual void slice_columns(const float* a, std::int64_t a_cols, std::int64_t first, float* c,
                             std::int64_t rows, std::int64_t cols) = 0;
  // columns [first, first + cols) of c[rows,c_cols] = a[rows,cols].
  virtual void place_columns(const float* a, std::int64_t cols, float* c, std::int64_t c_cols,
                             std::int64_t first, std::int64_t rows) = 0;

  // To and from host memory; both complete on return.
  virtual void upload(std::span<const float> host, float* device) = 0;
  virtual void download(const float* device, std::span<float> host) = 0;

  const MemoryCounters& counters() const { return counters_; }

 protected:
  void count_allocation(std::int64_t bytes) {
    counters_.live_bytes += bytes;
    if (counters_.live_bytes > counters_.peak_bytes) counters_.peak_bytes = counters_.live_bytes;
  }
  MemoryCounters counters_;
};

}  // namespace culprit
