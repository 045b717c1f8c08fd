#include "target/bisect_status.hpp"

namespace culprit {

bool matches_fingerprint(std::string_view wanted, std::string_view got) {
  if (wanted.empty() || wanted == got) return true;
  return got.starts_with(wanted) && (got[wanted.size()] == ':' || got[wanted.size()] == '@');
}

int bisect_status(const Trial& trial, std::string_view wanted) {
  constexpr int kGood = 0;
  constexpr int kBad = 1;
  constexpr int kSkip = 125;
  if (trial.status == Trial::Status::kPass) return kGood;
  if (trial.status == Trial::Status::kFail && matches_fingerprint(wanted, trial.fingerprint))
    return kBad;
  return kSkip;
}

}  // namespace culprit
