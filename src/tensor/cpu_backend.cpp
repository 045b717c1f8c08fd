#include "tensor/cpu_backend.hpp"

#include <cblas.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tensor/blas_threads.hpp"
#include "tensor/sum_in_order.hpp"

namespace culprit {
namespace {

// How a type is stored, and what it means.
struct Float32 {
  static constexpr DType kDType = DType::kFloat32;
  using Stored = float;
  static float load(float stored) { return stored; }
  static float store(float value) { return value; }
};
struct Float16 {
  static constexpr DType kDType = DType::kFloat16;
  using Stored = std::uint16_t;
  static float load(std::uint16_t stored) { return float16_value(stored); }
  static std::uint16_t store(float value) { return float16_bits(value); }
};
struct BFloat16 {
  static constexpr DType kDType = DType::kBFloat16;
  using Stored = std::uint16_t;
  static float load(std::uint16_t stored) { return bfloat16_value(stored); }
  static std::uint16_t store(float value) { return bfloat16_bits(value); }
};

template <class Type>
const typename Type::Stored* elements(const std::byte* memory) {
  return reinterpret_cast<const typename Type::Stored*>(memory);
}
template <class Type>
typename Type::Stored* elements(std::byte* memory) {
  return reinterpret_cast<typename Type::Stored*>(memory);
}

template <class Type>
struct CpuParcel final : Parcel {
  std::vector<typename Type::Stored> values;
  std::span<const typename Type::Stored> source = {};  // until finish_pack
};

// A member's memory is copied when given, so that nothing of it is touched after it was abandoned.
template <class Type>
class CpuExchange final : public Exchange {
 public:
  explicit CpuExchange(std::size_t num_members) : members_(num_members) {}

  void give(std::size_t member, Backend&, const CollectiveCall& call) override {
    const auto* mine = elements<Type>(call.mine);
    members_[member] = {.kind = call.kind,
                        .part = {mine, mine + call.num_elements},
                        .result = elements<Type>(call.result)};
  }
  void complete(std::uint64_t) override {
    std::vector<const std::byte*> parts;
    for (const Member& each : members_)
      parts.push_back(reinterpret_cast<const std::byte*>(each.part.data()));
    total_.resize(members_[0].part.size());
    sum_in_order(Type::kDType, parts, reinterpret_cast<std::byte*>(total_.data()),
                 static_cast<std::int64_t>(total_.size()));
  }
  void take(std::size_t member) override {
    auto* out = members_[member].result;
    if (members_[member].kind == ExchangeKind::kSum) {
      std::copy(total_.begin(), total_.end(), out);
      return;
    }
    for (const Member& each : members_) out = std::copy(each.part.begin(), each.part.end(), out);
  }
  void abandon(std::size_t member) override { members_[member].result = nullptr; }

 private:
  struct Member {
    ExchangeKind kind = ExchangeKind::kSum;
    std::vector<typename Type::Stored> part;
    typename Type::Stored* result = nullptr;
  };
  std::vector<Member> members_;
  std::vector<typename Type::Stored> total_;
};

template <class Type>
class CpuBackend final : public Backend {
  using Stored = typename Type::Stored;

 public:
  CpuBackend() : Backend(Type::kDType) { use_one_blas_thread(); }

  std::byte* allocate(std::int64_t num_elements) override {
    auto* data = new std::byte[static_cast<std::size_t>(num_bytes(num_elements))];
    count_allocation(num_bytes(num_elements));
    return data;
  }
  void deallocate(std::byte* data, std::int64_t num_elements) noexcept override {
    delete[] data;
    counters_.live_bytes -= num_bytes(num_elements);
  }

  void matmul(const std::byte* a, bool transpose_a, const std::byte* b, bool transpose_b,
              std::byte* c, std::int64_t m, std::int64_t n, std::int64_t k) override {
    const auto op = [](bool transpose) { return transpose ? CblasTrans : CblasNoTrans; };
    const auto dim = [](std::int64_t size) { return static_cast<blasint>(size); };
    const float* wide_a = widened(a, m * k, wide_a_);
    const float* wide_b = widened(b, k * n, wide_b_);
    float* wide_c = nullptr;
    if constexpr (std::is_same_v<Type, Float32>) {
      wide_c = elements<Type>(c);
    } else {
      wide_c_.resize(static_cast<std::size_t>(m * n));
      wide_c = wide_c_.data();
    }
    cblas_sgemm(CblasRowMajor, op(transpose_a), op(transpose_b), dim(m), dim(n), dim(k), 1.0F,
                wide_a, dim(transpose_a ? m : k), wide_b, dim(transpose_b ? k : n), 0.0F, wide_c,
                dim(n));
    if constexpr (!std::is_same_v<Type, Float32>)
      std::transform(wide_c, wide_c + m * n, elements<Type>(c), Type::store);
  }
  void add(float alpha, const std::byte* a, float beta, const std::byte* b, std::byte* c,
           std::int64_t num_elements) override {
    write(c, num_elements,
          [alpha, beta, x = elements<Type>(a), y = elements<Type>(b)](std::int64_t i) {
            return alpha * Type::load(x[i]) + beta * Type::load(y[i]);
          });
  }
  void scale(float alpha, const std::byte* a, std::byte* c, std::int64_t num_elements) override {
    write(c, num_elements,
          [alpha, x = elements<Type>(a)](std::int64_t i) { return alpha * Type::load(x[i]); });
  }
  void multiply(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                std::int64_t num_elements) override {
    write(c, num_elements, [alpha, x = elements<Type>(a), y = elements<Type>(b)](std::int64_t i) {
      return alpha * Type::load(x[i]) * Type::load(y[i]);
    });
  }
  void fill(float value, std::byte* c, std::int64_t num_elements) override {
    std::fill_n(elements<Type>(c), num_elements, Type::store(value));
  }
  void copy(const std::byte* a, std::byte* c, std::int64_t num_elements) override {
    std::copy_n(elements<Type>(a), num_elements, elements<Type>(c));
    counters_.copied_bytes += num_bytes(num_elements);
  }
  void sum(const std::byte* a, float divisor, std::byte* c, std::int64_t num_elements) override {
    // In float64: one float32 counter loses a large tensor's small terms, which is not the
    // subject's fault.
    const Stored* x = elements<Type>(a);
    double total = 0;
    for (std::int64_t i = 0; i < num_elements; ++i) total += static_cast<double>(Type::load(x[i]));
    *elements<Type>(c) = Type::store(static_cast<float>(total) / divisor);
  }
  void spread(const std::byte* a, float divisor, std::byte* c, std::int64_t num_elements) override {
    fill(Type::load(*elements<Type>(a)) / divisor, c, num_elements);
  }
  void slice_columns(const std::byte* a, std::int64_t a_cols, std::int64_t first, std::byte* c,
                     std::int64_t rows, std::int64_t cols) override {
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(elements<Type>(a) + r * a_cols + first, cols, elements<Type>(c) + r * cols);
  }
  void place_columns(const std::byte* a, std::int64_t cols, std::byte* c, std::int64_t c_cols,
                     std::int64_t first, std::int64_t rows) override {
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(elements<Type>(a) + r * cols, cols, elements<Type>(c) + r * c_cols + first);
  }
  void upload(std::span<const float> host, std::byte* device) override {
    std::transform(host.begin(), host.end(), elements<Type>(device), Type::store);
  }
  void download(const std::byte* device, std::span<float> host) override {
    std::transform(elements<Type>(device), elements<Type>(device) + host.size(), host.begin(),
                   Type::load);
  }

  std::unique_ptr<Parcel> pack(const std::byte* a, std::int64_t num_elements) override {
    auto parcel = std::make_unique<CpuParcel<Type>>();
    parcel->values.assign(elements<Type>(a), elements<Type>(a) + num_elements);
    return parcel;
  }
  std::unique_ptr<Parcel> start_pack(const std::byte* a, std::int64_t num_elements) override {
    auto parcel = std::make_unique<CpuParcel<Type>>();
    parcel->source = {elements<Type>(a), static_cast<std::size_t>(num_elements)};
    return parcel;
  }
  void finish_pack(Parcel& parcel) override {
    auto& started = static_cast<CpuParcel<Type>&>(parcel);
    started.values.assign(started.source.begin(), started.source.end());
  }
  void unpack(Parcel& parcel, std::byte* c, std::int64_t num_elements) override {
    std::copy_n(static_cast<CpuParcel<Type>&>(parcel).values.begin(), num_elements,
                elements<Type>(c));
  }
  std::unique_ptr<Exchange> make_exchange(std::size_t num_members) override {
    return std::make_unique<CpuExchange<Type>>(num_members);
  }

 private:
  template <class Value>
  void write(std::byte* c, std::int64_t num_elements, Value value) {
    Stored* out = elements<Type>(c);
    for (std::int64_t i = 0; i < num_elements; ++i) out[i] = Type::store(value(i));
  }
  // The elements as float32: themselves, or converted into `scratch`.
  const float* widened(const std::byte* a, std::int64_t num_elements, std::vector<float>& scratch) {
    if constexpr (std::is_same_v<Type, Float32>) {
      return elements<Type>(a);
    } else {
      scratch.resize(static_cast<std::size_t>(num_elements));
      download(a, scratch);
      return scratch.data();
    }
  }

  std::vector<float> wide_a_, wide_b_, wide_c_;  // of the two-byte types' matrix products
};

class CpuDevice final : public Device {
 public:
  std::unique_ptr<Backend> make_backend(int, DType dtype) override {
    return make_cpu_backend(dtype);
  }
  void require_room_for(int) const override {}
  std::string description() const override { return "cpu"; }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

std::unique_ptr<Backend> make_cpu_backend(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return std::make_unique<CpuBackend<Float16>>();
    case DType::kBFloat16:
      return std::make_unique<CpuBackend<BFloat16>>();
    case DType::kFloat32:
      break;
  }
  return std::make_unique<CpuBackend<Float32>>();
}

std::string blas_description() {
  std::string config = openblas_get_config();
  return config + " (" + openblas_get_corename() + ")";
}

}  // namespace culprit
