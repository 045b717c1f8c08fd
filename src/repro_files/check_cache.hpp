// What was seen when a reproduction ran, one file a result: named by a hash of the text and the
// tool, with both inside, so that a clash of hashes is noticed. Concurrent writers are fine;
// damaged or foreign files count as none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "repro_files/check_repro_files.hpp"

namespace culprit {

class CheckCache {
 public:
  // An empty folder: nothing is found or kept.
  explicit CheckCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::optional<ReproCheck> find(const ReproFile& file, const std::string& tool) const;
  // A folder that can't be written costs the next run its time, nothing else.
  void keep(const ReproFile& file, const std::string& tool, const ReproCheck& check) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace culprit
