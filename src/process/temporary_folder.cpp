#include "process/temporary_folder.hpp"

#include <stdlib.h>

#include <system_error>

#include "base/error.hpp"

namespace culprit {

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent, const std::string& name,
                                 const std::string& advice) {
  std::string path = (parent / (name + "-XXXXXX")).string();
  if (!::mkdtemp(path.data())) throw SetupError(path + ": can't be made" + advice);
  path_ = path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace culprit
