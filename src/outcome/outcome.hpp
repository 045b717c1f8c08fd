// What a cell came to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.hpp"

namespace culprit {

// The entry of a gradient that deviates most at the first deviating place.
struct BadValue {
  std::int64_t row = 0;  // of the rank's shard
  std::int64_t col = 0;
  double got = 0.0;
  double expected = 0.0;   // the reference's
  double deviation = 0.0;  // |got - expected| / largest |expected| of the shard
};

// Where something was first seen.
struct Place {
  int stage = 0;
  std::string ranks;  // tensor ranks, "0" or "0,1"
  int micro_batch = 0;
  std::string phase;   // forward | recompute | backward | finish | start
  std::string tensor;  // the parameter, for gradients; empty for errors
  std::optional<BadValue> value = {};  // of the first of `ranks`; none for errors and missing gradients
};

struct Outcome {
  OutcomeClass outcome = OutcomeClass::kPass;
  std::string kind;   // of an error or crash
  std::string where;  // as in the cells file (docs/schemas.md)
  std::string message;  // the framework's words, of the first rank in `where`
  std::optional<Place> first;  // the first failing or deviating place
  // Only where no rank raised an error:
  std::optional<double> loss;
  std::optional<double> worst;  // largest |grad - reference| / max |reference|
  std::string worst_parameter;
  std::vector<std::pair<std::string, double>> checksums;  // name@stage.tp, sum |grad|
  std::optional<int> freed;
  // Cost, over all ranks.
  std::int64_t copied_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t collectives = 0;
  std::int64_t collective_bytes = 0;
};

// Class, kind, phase and place role: equal for the same failure at another size. Empty for PASS.
std::string fingerprint(const Outcome& outcome);

// "%.6g name=value ..." and the like, as the cells file has them.
std::string checksum_text(const Outcome& outcome);

}  // namespace culprit
