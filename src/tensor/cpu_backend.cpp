#include "tensor/cpu_backend.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstring>

#include "tensor/blas_threads.hpp"

namespace culprit {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend() { use_one_blas_thread(); }

  float* allocate(std::int64_t num_elements) override {
    auto* data = new float[static_cast<std::size_t>(num_elements)];
    count_allocation(num_elements * static_cast<std::int64_t>(sizeof(float)));
    return data;
  }
  void deallocate(float* data, std::int64_t num_elements) noexcept override {
    delete[] data;
    counters_.live_bytes -= num_elements * static_cast<std::int64_t>(sizeof(float));
  }

  void matmul(const float* a, bool transpose_a, const float* b, bool transpose_b, float* c,
              std::int64_t m, std::int64_t n, std::int64_t k) override {
    const auto op = [](bool transpose) { return transpose ? CblasTrans : CblasNoTrans; };
    const auto dim = [](std::int64_t size) { return static_cast<blasint>(size); };
    cblas_sgemm(CblasRowMajor, op(transpose_a), op(transpose_b), dim(m), dim(n), dim(k), 1.0F, a,
                dim(transpose_a ? m : k), b, dim(transpose_b ? k : n), 0.0F, c, dim(n));
  }
  void add(float alpha, const float* a, float beta, const float* b, float* c,
           std::int64_t num_elements) override {
    for (std::int64_t i = 0; i < num_elements; ++i) c[i] = alpha * a[i] + beta * b[i];
  }
  void scale(float alpha, const float* a, float* c, std::int64_t num_elements) override {
    for (std::int64_t i = 0; i < num_elements; ++i) c[i] = alpha * a[i];
  }
  void multiply(float alpha, const float* a, const float* b, float* c,
                std::int64_t num_elements) override {
    for (std::int64_t i = 0; i < num_elements; ++i) c[i] = alpha * a[i] * b[i];
  }
  void fill(float value, float* c, std::int64_t num_elements) override {
    std::fill_n(c, num_elements, value);
  }
  void copy(const float* a, float* c, std::int64_t num_elements) override {
    std::copy_n(a, num_elements, c);
    counters_.copied_bytes += num_elements * static_cast<std::int64_t>(sizeof(float));
  }
  float sum(const float* a, std::int64_t num_elements) override {
    // In float64: one float32 counter loses a large tensor's small terms, which is not the
    // subject's fault.
    double total = 0;
    for (std::int64_t i = 0; i < num_elements; ++i) total += a[i];
    return static_cast<float>(total);
  }
  void slice_columns(const float* a, std::int64_t a_cols, std::int64_t first, float* c,
                     std::int64_t rows, std::int64_t cols) override {
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(a + r * a_cols + first, cols, c + r * cols);
  }
  void place_columns(const float* a, std::int64_t cols, float* c, std::int64_t c_cols,
                     std::int64_t first, std::int64_t rows) override {
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(a + r * cols, cols, c + r * c_cols + first);
  }
  void upload(std::span<const float> host, float* device) override {
    std::copy(host.begin(), host.end(), device);
  }
  void download(const float* device, std::span<float> host) override {
    std::copy_n(device, host.size(), host.begin());
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

std::string blas_description() {
  std::string config = openblas_get_config();
  return config + " (" + openblas_get_corename() + ")";
}

}  // namespace culprit
