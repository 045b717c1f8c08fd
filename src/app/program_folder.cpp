#include "app/program_folder.hpp"

namespace culprit {
namespace fs = std::filesystem;

fs::path shown_program_folder() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  std::error_code error;
  const fs::path shown = fs::relative(folder, fs::current_path(), error);
  return error || shown.empty() ? folder : shown;
}

}  // namespace culprit
