// The flags that say where cells run: --device and --comm.
#pragma once

#include "runtime/open_runtime.hpp"

namespace CLI {
class App;
}

namespace culprit {

// Adds the flags to `app`; parsing writes `choice`, which must outlive it.
void add_runtime_flags(CLI::App& app, RuntimeChoice& choice);

}  // namespace culprit
