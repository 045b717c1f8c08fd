// Finds the file that a command's first word stands for, as a shell would.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

struct ProgramPath {
  std::string path;  // empty when not found
  int error = 0;     // errno when not found: ENOENT, EACCES
};

// A name with a slash is the path itself (relative to `directory` when that is not empty);
// otherwise the first executable file of that name in the folders of `search_path` (the value of
// PATH).
ProgramPath find_program(std::string_view name, std::string_view search_path,
                         std::string_view directory = {});

}  // namespace culprit
