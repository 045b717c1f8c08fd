#include "target/npy.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

namespace culprit {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they are");

constexpr std::string_view kMagic("\x93NUMPY", 6);

// The header: a Python dictionary literal with a string, a bool and a tuple of integers, in any
// order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<std::string> descr;
  std::optional<bool> is_fortran;
  std::optional<std::vector<std::size_t>> shape;

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr)
        descr = peek() == '['
                    ? throw DumpError(".npy: a structured type, expected float32 or float64")
                    : string();
      else if (key == "fortran_order" && !is_fortran)
        is_fortran = boolean();
      else if (key == "shape" && !shape)
        shape = tuple();
      else
        fail(fmt::format("an unexpected key '{}'", key));
      if (!accept(',') && peek() != '}') fail("no ',' or '}'");
    }
    if (peek() != '\0') fail("text after the dictionary");
    if (!descr || !is_fortran || !shape) fail("no descr, fortran_order or shape");
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw DumpError(".npy: the header has " + what);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("no '{}' where one is expected", c));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("no string where one is expected");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string without its end");
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::strlen(word);
        return value;
      }
    fail("no True or False where one is expected");
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> result;
    expect('(');
    while (!accept(')')) {
      peek();
      std::size_t size = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc()) fail("a shape that is not a tuple of sizes");
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');  // Python 2 wrote long integers so
      result.push_back(size);
      if (!accept(',') && peek() != ')') fail("no ',' or ')' in the shape");
    }
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

template <typename T>
void append_values(std::string_view bytes, std::vector<double>& values) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    values.push_back(static_cast<double>(value));
  }
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(kMagic); }

DumpTensor parse_npy(std::string_view bytes) {
  if (bytes.size() < 10 || !is_npy(bytes))
    throw DumpError(".npy: the file is too short or has no NumPy magic");
  const int version = bytes[6];
  if (version < 1 || version > 3)
    throw DumpError(fmt::format(".npy: format version {}, expected 1 to 3", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (bytes.size() < begin || bytes.size() - begin < little_endian(bytes.substr(8, length_bytes)))
    throw DumpError(".npy: the file ends within its header");
  const std::size_t header_bytes = little_endian(bytes.substr(8, length_bytes));
  HeaderParser header(bytes.substr(begin, header_bytes));
  header.parse();
  const bool is_double = *header.descr == "<f8";
  if (!is_double && *header.descr != "<f4")
    throw DumpError(
        fmt::format(".npy: type '{}', expected '<f4' or '<f8' (float32, float64, little endian)",
                    *header.descr));
  if (*header.is_fortran && header.shape->size() > 1)
    throw DumpError(".npy: Fortran order, expected C order (numpy.ascontiguousarray)");

  DumpTensor tensor{"array", *header.shape, {}};
  const std::string_view data = bytes.substr(begin + header_bytes);
  const std::size_t element_bytes = is_double ? 8 : 4;
  std::size_t expected = element_bytes;
  for (const std::size_t size : tensor.shape)
    if (__builtin_mul_overflow(expected, size, &expected))
      throw DumpError(".npy: the shape is too large");
  if (data.size() != expected)
    throw DumpError(
        fmt::format(".npy: {} bytes of data, expected {} by its shape", data.size(), expected));
  tensor.values.reserve(expected / element_bytes);
  if (is_double)
    append_values<double>(data, tensor.values);
  else
    append_values<float>(data, tensor.values);
  return tensor;
}

}  // namespace culprit
