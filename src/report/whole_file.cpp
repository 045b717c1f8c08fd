#include "report/whole_file.hpp"

#include <fmt/format.h>

#include <fstream>

#include "base/error.hpp"

namespace culprit {
namespace fs = std::filesystem;

void write_whole_file(const fs::path& path, const std::string& text) {
  const fs::path partial = path.string() + ".partial";
  std::ofstream out(partial, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) fs::rename(partial, path, error);
  if (!out || error) throw SetupError(fmt::format("{}: can't be written", path.string()));
}

}  // namespace culprit
