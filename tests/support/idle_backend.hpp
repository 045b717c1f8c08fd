// Support: a backend that has no memory and does nothing, for tests of who exchanges with whom.
#pragma once

#include <memory>
#include <span>

#include "tensor/backend.hpp"

namespace culprit::test {

class IdleBackend : public Backend {
 public:
  IdleBackend() : Backend(DType::kFloat32) {}
  std::byte* allocate(std::int64_t) override { return nullptr; }
  void deallocate(std::byte*, std::int64_t) noexcept override {}
  void matmul(const std::byte*, bool, const std::byte*, bool, std::byte*, std::int64_t, std::int64_t,
              std::int64_t) override {}
  void add(float, const std::byte*, float, const std::byte*, std::byte*, std::int64_t) override {}
  void scale(float, const std::byte*, std::byte*, std::int64_t) override {}
  void multiply(float, const std::byte*, const std::byte*, std::byte*, std::int64_t) override {}
  void fill(float, std::byte*, std::int64_t) override {}
  void copy(const std::byte*, std::byte*, std::int64_t) override {}
  void sum(const std::byte*, float, std::byte*, std::int64_t) override {}
  void spread(const std::byte*, float, std::byte*, std::int64_t) override {}
  void slice_columns(const std::byte*, std::int64_t, std::int64_t, std::byte*, std::int64_t,
                     std::int64_t) override {}
  void place_columns(const std::byte*, std::int64_t, std::byte*, std::int64_t, std::int64_t,
                     std::int64_t) override {}
  void upload(std::span<const float>, std::byte*) override {}
  void download(const std::byte*, std::span<float>) override {}
  std::unique_ptr<Parcel> pack(const std::byte*, std::int64_t) override { return nullptr; }
  std::unique_ptr<Parcel> start_pack(const std::byte*, std::int64_t) override { return nullptr; }
  void finish_pack(Parcel&) override {}
  void unpack(Parcel&, std::byte*, std::int64_t) override {}
};

}  // namespace culprit::test
