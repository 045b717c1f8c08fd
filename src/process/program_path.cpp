#include "process/program_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace culprit {
namespace {

// 0 when `path` is a file that this user may execute, else errno.
int executable_error(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

std::string under(std::string_view directory, std::string_view path) {
  if (directory.empty() || path.starts_with('/')) return std::string(path);
  return std::string(directory) + '/' + std::string(path);
}

}  // namespace

ProgramPath find_program(std::string_view name, std::string_view search_path,
                         std::string_view directory) {
  if (name.empty()) return {"", ENOENT};
  if (name.find('/') != std::string_view::npos) {
    const int error = executable_error(under(directory, name));
    return error == 0 ? ProgramPath{std::string(name), 0} : ProgramPath{"", error};
  }
  int error = ENOENT;
  for (std::size_t begin = 0; begin <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
    const std::string_view folder = search_path.substr(begin, end - begin);
    // An empty entry is the working folder, by POSIX.
    const std::string path = std::string(folder.empty() ? "." : folder) + '/' + std::string(name);
    const int found = executable_error(under(directory, path));
    if (found == 0) return {path, 0};
    if (found == EACCES) error = EACCES;
    begin = end + 1;
  }
  return {"", error};
}

}  // namespace culprit
