#include "target/tensor_dump.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "target/npy.hpp"

namespace culprit {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 64;

// Python's json writes NaN, Infinity and -Infinity, which JSON does not have: they become strings.
std::string quote_special_numbers(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  bool is_in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_in_string && c == '\\' && at + 1 < text.size()) {
      result.append(text, at, 2);
      at += 2;
      continue;
    }
    if (c == '"') is_in_string = !is_in_string;
    std::size_t length = 0;
    if (!is_in_string)
      for (const std::string_view word : {"NaN", "-Infinity", "Infinity"})
        if (text.compare(at, word.size(), word) == 0) length = word.size();
    if (length > 0) {
      result.append("\"").append(text, at, length).append("\"");
      at += length;
    } else {
      result += c;
      ++at;
    }
  }
  return result;
}

double special_number(const std::string& text, const std::string& name) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN" || text == "nan" || text == "-nan")
    return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity" || text == "inf") return kInfinity;
  if (text == "-Infinity" || text == "-inf") return -kInfinity;
  throw DumpError(
      fmt::format("'{}' holds the text '{}', expected numbers", name, text.substr(0, 40)));
}

void append_array(const Json& json, std::size_t depth, DumpTensor& tensor) {
  if (depth > kMaxDepth) throw DumpError(fmt::format("'{}' is nested too deeply", tensor.name));
  if (!json.is_array()) {
    if (depth != tensor.shape.size()) throw DumpError(fmt::format("'{}' is ragged", tensor.name));
    if (json.is_number())
      tensor.values.push_back(json.get<double>());
    else if (json.is_null())
      tensor.values.push_back(std::numeric_limits<double>::quiet_NaN());
    else if (json.is_string())
      tensor.values.push_back(special_number(json.get_ref<const std::string&>(), tensor.name));
    else
      throw DumpError(
          fmt::format("'{}' holds {}, expected numbers", tensor.name, json.type_name()));
    return;
  }
  if (depth >= tensor.shape.size() || json.size() != tensor.shape[depth])
    throw DumpError(fmt::format("'{}' is ragged", tensor.name));
  for (const Json& each : json) append_array(each, depth + 1, tensor);
}

void append_tensors(const Json& object, const std::string& prefix, int depth, Dump& dump) {
  if (depth > kMaxDepth) throw DumpError("objects are nested too deeply");
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) {
      append_tensors(value, name + '.', depth + 1, dump);
      continue;
    }
    DumpTensor tensor{name, {}, {}};
    // The shape is that of the first element of each level; append_array finds what deviates.
    for (const Json* each = &value; each->is_array(); each = &each->front()) {
      tensor.shape.push_back(each->size());
      if (each->empty() || tensor.shape.size() > kMaxDepth) break;
    }
    append_array(value, 0, tensor);
    dump.push_back(std::move(tensor));
  }
}

Dump parse_json_dump(const std::string& text) {
  Json json;
  try {
    json = Json::parse(quote_special_numbers(text));
  } catch (const Json::exception& error) {
    throw DumpError(fmt::format("neither JSON nor .npy: {}", error.what()));
  }
  if (!json.is_object())
    throw DumpError(
        fmt::format("JSON {}, expected an object of name -> numbers", json.type_name()));
  Dump dump;
  append_tensors(json, "", 0, dump);
  std::set<std::string_view> names;
  for (const DumpTensor& tensor : dump)
    if (!names.insert(tensor.name).second)
      throw DumpError(fmt::format("two tensors are named '{}'", tensor.name));
  return dump;
}

}  // namespace

Dump read_dump(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DumpError(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  std::string bytes;
  try {
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure& error) {  // a folder, a failing disk
    throw DumpError(fmt::format("cannot read '{}': {}", path, error.what()));
  }
  try {
    if (is_npy(bytes)) return {parse_npy(bytes)};
    Dump dump = parse_json_dump(bytes);
    if (dump.empty()) throw DumpError("no tensor");
    return dump;
  } catch (const DumpError& error) {
    throw DumpError(fmt::format("dump '{}': {}", path, error.what()));
  }
}

std::optional<DumpDifference> first_difference(const Dump& reference, const Dump& dump,
                                               const DumpTolerance& tolerance) {
  std::unordered_map<std::string_view, const DumpTensor*> by_name;
  for (const DumpTensor& tensor : dump) by_name.emplace(tensor.name, &tensor);
  for (const DumpTensor& expected : reference) {
    const auto found = by_name.find(expected.name);
    if (found == by_name.end())
      return DumpDifference{"missing:" + expected.name,
                            fmt::format("the dump has no '{}'", expected.name)};
    const DumpTensor& got = *found->second;
    if (got.shape != expected.shape)
      return DumpDifference{
          "shape:" + expected.name,
          fmt::format("'{}' has shape [{}], expected [{}]", expected.name,
                      fmt::join(got.shape, ", "), fmt::join(expected.shape, ", "))};
    double scale = 0;
    for (const double value : expected.values)
      if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
    double worst = -1;
    std::size_t worst_at = 0;
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (std::isnan(got.values[i]))
        return DumpDifference{"nan:" + expected.name,
                              fmt::format("'{}' is NaN at {}", expected.name, i)};
      if (got.values[i] == expected.values[i]) continue;  // infinities too
      const double difference = std::abs(got.values[i] - expected.values[i]);
      if (difference > worst) {
        worst = difference;
        worst_at = i;
      }
    }
    if (worst > tolerance.atol + tolerance.rtol * scale)
      return DumpDifference{
          "differs:" + expected.name,
          fmt::format("'{}' is {:.9g} at {}, expected {:.9g} (off by {:.3g} x its largest entry)",
                      expected.name, got.values[worst_at], worst_at, expected.values[worst_at],
                      scale > 0 ? worst / scale : std::numeric_limits<double>::infinity())};
  }
  return std::nullopt;
}

std::optional<std::string> first_nan(const Dump& dump) {
  for (const DumpTensor& tensor : dump)
    if (std::any_of(tensor.values.begin(), tensor.values.end(),
                    [](double value) { return std::isnan(value); }))
      return tensor.name;
  return std::nullopt;
}

}  // namespace culprit
