// The runtimes that the contract is checked on.
#pragma once

#include "support/rank_threads.hpp"

namespace culprit::test {

// Every type on one runtime, the name in front.
inline std::vector<RuntimeUnderTest> in_every_type(const std::string& name,
                                                   const std::function<Runtime&()>& runtime) {
  return {{name + "Float32", DType::kFloat32, runtime},
          {name + "Float16", DType::kFloat16, runtime},
          {name + "BFloat16", DType::kBFloat16, runtime}};
}

// Defined by each test program.
std::vector<RuntimeUnderTest> runtimes_under_test();

}  // namespace culprit::test
