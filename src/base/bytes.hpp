// Values as bytes, for messages between processes of one build on machines of one kind.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace culprit {

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_.append(text);
  }
  template <class T>
  void put_list(const std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_text({reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)});
  }
  void put_trouble(const Trouble& trouble) {
    put(trouble.exit_status);
    put_text(trouble.words);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a ByteWriter wrote, in the same order. Errors: SetupError when there is less.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, next(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string get_text() { return std::string(next(get<std::uint64_t>())); }
  template <class T>
  std::vector<T> get_list() {
    const std::string_view text = next(get<std::uint64_t>());
    std::vector<T> list(text.size() / sizeof(T));
    if (!list.empty()) std::memcpy(list.data(), text.data(), list.size() * sizeof(T));
    return list;
  }
  Trouble get_trouble() {
    const int exit_status = get<int>();
    return {exit_status, get_text()};
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view next(std::uint64_t size) {
    if (size > bytes_.size()) throw SetupError("[bytes] a message is shorter than it says");
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  std::string_view bytes_;
};

}  // namespace culprit
