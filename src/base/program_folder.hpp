// Where this program stands: scenario programs and plug-ins stand beside it.
#pragma once

#include <filesystem>

namespace culprit {

inline std::filesystem::path program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace culprit
