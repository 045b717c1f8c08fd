// Re-checks a reported combination's certificate by running the program again; uses nothing of the
// search.
#pragma once

#include <string>

#include "isolate/planted.hpp"
#include "isolate/search.hpp"

namespace culprit {

// The first thing wrong with the certificate, in words, or nothing. For bugs that always show.
std::string certificate_violation(const Space& space, const Combination& combination,
                                  const std::vector<planted::Bug>& bugs);

}  // namespace culprit
