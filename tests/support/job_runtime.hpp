// Support: the runtime of a test program whose ranks are processes, opened once.
#pragma once

#include "comm/runtime.hpp"

namespace culprit::test {

// Defined by each such program. Errors: UnavailableError where it is not here.
Runtime& job_runtime();

}  // namespace culprit::test
