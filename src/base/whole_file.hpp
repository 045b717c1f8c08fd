// A file that is there whole or not at all.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>

#include "base/error.hpp"

namespace culprit {

// Writes beside `path` under the name PATH.partial, then renames: a reader never sees half a file,
// and an existing one is replaced only by a whole one. Errors: SetupError naming the path.
inline void write_whole_file(const std::filesystem::path& path,
                             const std::function<void(std::ostream&)>& write) {
  const std::filesystem::path partial = path.string() + ".partial";
  std::ofstream out(partial, std::ios::binary);
  write(out);
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(partial, path, error);
  if (out && !error) return;
  std::filesystem::remove(partial, error);
  throw SetupError(path.string() + ": can't be written");
}
inline void write_whole_file(const std::filesystem::path& path, const std::string& text) {
  write_whole_file(path, [&](std::ostream& out) { out << text; });
}

}  // namespace culprit
