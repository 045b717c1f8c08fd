#include "target/tensor_dump.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "target/npy.hpp"
#include "target_test_support.hpp"

namespace culprit {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Dump from_text(const std::string& text) {
  TemporaryFolder folder;
  write_text(folder / "dump", text);
  return read_dump(folder / "dump");
}

std::string error_of(const std::string& text) {
  try {
    from_text(text);
  } catch (const DumpError& error) {
    return error.what();
  }
  return "(none)";
}

template <typename T>
std::string npy(const std::string& header, const std::vector<T>& values, char version = 1) {
  std::string text = std::string("\x93NUMPY", 6) + version + '\0';
  const std::size_t length = header.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(length >> (8 * i) & 0xff);
  text += header;
  return text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(TensorDumpTest, ReadsJsonInTheFilesOrder) {
  const Dump dump =
      from_text(R"({"loss": 1.5, "b": [[1,2,3],[4,5,6]], "a": {"w": [7], "deep": {"x": []}}})");
  ASSERT_EQ(dump.size(), 4u);
  EXPECT_EQ(dump[0].name, "loss");
  EXPECT_TRUE(dump[0].shape.empty());
  EXPECT_EQ(dump[1].shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(dump[1].values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(dump[2].name, "a.w");
  EXPECT_EQ(dump[3].name, "a.deep.x");
  EXPECT_EQ(dump[3].shape, (std::vector<std::size_t>{0}));
}

TEST(TensorDumpTest, ReadsNanAndInfinityAsPythonWritesThem) {
  const Dump dump = from_text(R"({"NaN \" NaN": [NaN, Infinity, -Infinity, "nan", "-inf", null]})");
  EXPECT_EQ(dump[0].name, "NaN \" NaN");
  ASSERT_EQ(dump[0].values.size(), 6u);
  EXPECT_TRUE(std::isnan(dump[0].values[0]));
  EXPECT_EQ(dump[0].values[1], kInfinity);
  EXPECT_EQ(dump[0].values[2], -kInfinity);
  EXPECT_TRUE(std::isnan(dump[0].values[3]));
  EXPECT_EQ(dump[0].values[4], -kInfinity);
  EXPECT_TRUE(std::isnan(dump[0].values[5]));
  EXPECT_EQ(first_nan(dump), "NaN \" NaN");
}

TEST(TensorDumpTest, RefusesWhatIsNoDump) {
  EXPECT_NE(error_of("").find("neither JSON nor .npy"), std::string::npos);
  EXPECT_NE(error_of("{\"a\":1").find("neither JSON nor .npy"), std::string::npos);
  EXPECT_NE(error_of("[1,2]").find("expected an object"), std::string::npos);
  EXPECT_NE(error_of("{}").find("no tensor"), std::string::npos);
  EXPECT_NE(error_of(R"({"a":[[1,2],[3]]})").find("'a' is ragged"), std::string::npos);
  EXPECT_NE(error_of(R"({"a":[1,[2]]})").find("'a' is ragged"), std::string::npos);
  EXPECT_NE(error_of(R"({"a":[[1],2]})").find("'a' is ragged"), std::string::npos);
  EXPECT_NE(error_of(R"({"a":[true]})").find("holds boolean"), std::string::npos);
  EXPECT_NE(error_of(R"({"a":"x"})").find("holds the text 'x'"), std::string::npos);
  EXPECT_NE(error_of(R"({"a":[{"b":1}]})").find("holds object"), std::string::npos);
  EXPECT_NE(error_of(R"({"a.b":1,"a":{"b":2}})").find("two tensors are named 'a.b'"),
            std::string::npos);
  EXPECT_NE(error_of("{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}")
                .find("nested too deeply"),
            std::string::npos);
  EXPECT_THROW(read_dump("/no/such/file"), DumpError);
  EXPECT_THROW(read_dump("/tmp"), DumpError);
}

TEST(NpyTest, ReadsBothTypesAndOddHeaders) {
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
        "{ 'fortran_order' : False , 'descr':'<f4','shape':( 2L , 3L ,) }\n\n"}) {
    const Dump dump = from_text(npy(header, six));
    EXPECT_EQ(dump.at(0).shape, (std::vector<std::size_t>{2, 3})) << header;
    EXPECT_EQ(dump[0].values[5], 6);
  }
  const std::string scalar = "{'descr': '<f8', 'fortran_order': False, 'shape': ()}";
  EXPECT_EQ(from_text(npy<double>(scalar, {0.1}, 2))[0].values, std::vector<double>{0.1});
  EXPECT_EQ(from_text(npy<double>(scalar, {0.1}, 3))[0].shape.size(), 0u);
  EXPECT_EQ(
      from_text(npy<double>("{'descr': '<f8', 'fortran_order': True, 'shape': (2,)}", {1, 2}))[0]
          .values.size(),
      2u);
  EXPECT_EQ(
      from_text(npy<double>("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4)}", {}))[0]
          .values.size(),
      0u);
}

TEST(NpyTest, RefusesTheRestByName) {
  const auto error = [](const std::string& header, std::size_t floats = 2, char version = 1) {
    return error_of(npy(header, std::vector<float>(floats), version));
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? "" : text;
  };
  EXPECT_EQ(has(error("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}"), "type '>f4'"),
            "");
  EXPECT_EQ(has(error("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}"), "type '<i4'"),
            "");
  EXPECT_EQ(
      has(error("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"), "structured"),
      "");
  EXPECT_EQ(has(error("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}"), "Fortran"), "");
  EXPECT_EQ(has(error("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"),
                "8 bytes of data, expected 12"),
            "");
  EXPECT_EQ(has(error("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"),
                "8 bytes of data, expected 4"),
            "");
  EXPECT_EQ(
      has(error("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"),
          "too large"),
      "");
  EXPECT_EQ(has(error("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), "shape"), "");
  EXPECT_EQ(has(error("{'descr': '<f4', 'shape': (2,)}"), "no descr, fortran_order or shape"), "");
  EXPECT_EQ(has(error("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"),
                "unexpected key"),
            "");
  EXPECT_EQ(has(error("{'descr': '<f4"), "without its end"), "");
  EXPECT_EQ(has(error("", 2, 9), "version 9"), "");
  EXPECT_EQ(has(error_of(std::string("\x93NUMPY\x01\0\xff\xff{}", 12)), "ends within its header"),
            "");
  EXPECT_EQ(has(error_of(std::string("\x93NUMPY", 6)), "too short"), "");
}

TEST(FirstDifferenceTest, NamesTheFirstBadTensorInTheReferencesOrder) {
  const Dump reference{{"z", {2}, {100, 1}}, {"a", {}, {1}}, {"m", {1}, {5}}};
  const auto difference = [&](const Dump& dump, DumpTolerance tolerance = {}) {
    const auto found = first_difference(reference, dump, tolerance);
    return found ? found->fingerprint : "";
  };
  EXPECT_EQ(difference(reference), "");
  EXPECT_EQ(difference({{"m", {1}, {6}}, {"a", {}, {2}}, {"z", {2}, {100, 1}}}), "differs:a");
  EXPECT_EQ(difference({{"z", {2}, {100, 1}}, {"m", {1}, {5}}}), "missing:a");
  EXPECT_EQ(difference({{"z", {1, 2}, {100, 1}}, {"a", {}, {1}}, {"m", {1}, {5}}}), "shape:z");
  EXPECT_EQ(difference({{"z", {2}, {101, kNan}}, {"a", {}, {1}}, {"m", {1}, {5}}}), "nan:z");
  EXPECT_EQ(difference({{"z", {2}, {kInfinity, 1}}, {"a", {}, {1}}, {"m", {1}, {5}}}), "differs:z");
  // Relative to the tensor's largest entry, 100: 0.009 off is within 1e-4 of it, 0.011 is not.
  EXPECT_EQ(difference({{"z", {2}, {100, 1.009}}, {"a", {}, {1}}, {"m", {1}, {5}}}), "");
  EXPECT_EQ(difference({{"z", {2}, {100, 1.011}}, {"a", {}, {1}}, {"m", {1}, {5}}}), "differs:z");
  EXPECT_EQ(difference({{"z", {2}, {100, 1.011}}, {"a", {}, {1}}, {"m", {1}, {5}}}, {0, 0.02}), "");
}

TEST(FirstDifferenceTest, EqualInfinitiesAndZerosAgree) {
  const Dump reference{{"x", {2}, {kInfinity, 0}}};
  EXPECT_FALSE(first_difference(reference, reference, {0, 0}));
  EXPECT_TRUE(first_difference(reference, {{"x", {2}, {-kInfinity, 0}}}, {1, 1}));
}

}  // namespace
}  // namespace culprit
