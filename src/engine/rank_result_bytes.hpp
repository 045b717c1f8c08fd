// A rank's result as bytes, from the process that ran it to the one that judges.
#pragma once

#include <string>
#include <string_view>

#include "engine/rank_result.hpp"

namespace culprit {

std::string to_bytes(const RankResult& result);
// Errors: SetupError when the bytes are of something else.
RankResult rank_result_from_bytes(std::string_view bytes);

}  // namespace culprit
