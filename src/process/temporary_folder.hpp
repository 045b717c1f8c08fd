// A folder of our own that goes away, with what is in it, with the object.
#pragma once

#include <filesystem>
#include <string>

namespace culprit {

class TemporaryFolder {
 public:
  // PARENT/NAME-XXXXXX with a random end. Errors: SetupError, ending in `advice`.
  TemporaryFolder(const std::filesystem::path& parent, const std::string& name,
                  const std::string& advice = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace culprit
