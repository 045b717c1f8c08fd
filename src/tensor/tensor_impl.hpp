// Storage and impl: the lower two of the three layers of a tensor (semantics: docs/semantics.md,
// rule 1). Several impls may share a storage (view); several tensor objects may share an impl
// (detach).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/backend.hpp"
#include "tensor/shape.hpp"

namespace culprit {

// Owns one block of a backend's memory; freed with its last owner. The backend must outlive it.
class Storage {
 public:
  Storage(Backend& backend, std::int64_t num_elements)
      : backend_(backend), num_elements_(num_elements), data_(backend.allocate(num_elements)) {}
  ~Storage() { backend_.deallocate(data_, num_elements_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  Backend& backend() const { return backend_; }
  std::int64_t num_elements() const { return num_elements_; }

 private:
  Backend& backend_;
  std::int64_t num_elements_;
  std::byte* data_;
};

class TensorImpl {
 public:
  // Fresh storage, contents undefined, version 0.
  TensorImpl(Backend& backend, Shape shape)
      : shape_(shape),
        storage_(std::make_shared<Storage>(backend, shape.num_elements())),
        version_(std::make_shared<std::uint32_t>(0)) {}

  // A new impl of another shape on the same storage and the same version counter.
  std::shared_ptr<TensorImpl> view(Shape shape) const {
    auto result = std::make_shared<TensorImpl>(*this);
    result->shape_ = shape;
    return result;
  }

  Shape shape() const { return shape_; }
  std::int64_t num_elements() const { return shape_.num_elements(); }
  std::byte* data() const { return storage_->data(); }
  // Of the element at that place in row-major order.
  std::byte* data_at(std::int64_t element) const { return data() + backend().num_bytes(element); }
  Backend& backend() const { return storage_->backend(); }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  std::uint32_t inplace_version() const { return *version_; }
  void bump_inplace_version() { ++*version_; }

  std::vector<float> to_host() const {
    std::vector<float> values(static_cast<std::size_t>(num_elements()));
    backend().download(data(), values);
    return values;
  }

 private:
  Shape shape_;
  std::shared_ptr<Storage> storage_;
  std::shared_ptr<std::uint32_t> version_;
};

}  // namespace culprit
