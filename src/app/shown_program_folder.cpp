#include "app/shown_program_folder.hpp"

#include "base/program_folder.hpp"

namespace culprit {
namespace fs = std::filesystem;

fs::path shown_program_folder() {
  const fs::path folder = program_folder();
  std::error_code error;
  const fs::path shown = fs::relative(folder, fs::current_path(), error);
  // A way up and down again would hold only from here.
  return error || shown.empty() || shown.native().starts_with("..") ? folder : shown;
}

}  // namespace culprit
