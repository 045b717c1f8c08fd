// A file that is there whole or not at all.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"

namespace culprit {

// Written beside `path` under the name PATH.partial and renamed by commit(): a reader never sees
// half a file, and an existing one is replaced only by a whole one. Without commit() nothing is
// left behind. A path that is there and is no regular file (a device, a pipe) is written to
// directly; a symbolic link stays one.
class WholeFile {
 public:
  // Errors: SetupError naming the path and the system's reason when it can't be written, so that it
  // shows before the work and not after it.
  explicit WholeFile(const std::filesystem::path& path) : path_(path), partial_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status))
      throw SetupError(path.string() + ": is a folder, expected a file");
    if (std::filesystem::exists(status) &&
        std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)))
      path_ = std::filesystem::canonical(path, error);
    renamed_ = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
    partial_ = renamed_ ? std::filesystem::path(path_.string() + ".partial") : path;
    out_.open(partial_, std::ios::binary);
    if (!out_) throw cannot_write(std::strerror(errno));
  }
  ~WholeFile() {
    std::error_code error;
    if (renamed_ && !committed_) std::filesystem::remove(partial_, error);
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  std::ostream& out() { return out_; }
  // Errors: SetupError naming the path and the system's reason.
  void commit() {
    out_.close();
    if (!out_) throw cannot_write(std::strerror(errno));
    std::error_code error;
    if (renamed_) std::filesystem::rename(partial_, path_, error);
    if (error) throw cannot_write(error.message());
    committed_ = true;
  }

 private:
  SetupError cannot_write(const std::string& reason) const {
    return SetupError(path_.string() + ": can't be written: " + reason);
  }

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::ofstream out_;
  bool renamed_ = true;
  bool committed_ = false;
};

// Errors: SetupError naming the path.
inline void write_whole_file(const std::filesystem::path& path, const std::string& text) {
  WholeFile file(path);
  file.out() << text;
  file.commit();
}

}  // namespace culprit
