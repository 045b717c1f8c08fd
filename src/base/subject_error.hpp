// What the subject under test can raise. These are data in the end: run_cell stores them in the rank's
// result and judge turns them into an Outcome; none of them is a failure of the harness.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace culprit {

// Kinds of subject errors, as they stand in outcomes, CSV files and fingerprints.
namespace kind {
inline constexpr std::string_view kLeafInplace = "LEAF_INPLACE";
inline constexpr std::string_view kInplaceVersion = "INPLACE_VERSION";
inline constexpr std::string_view kGradForStoppedInput = "GRAD_FOR_STOPPED_INPUT";
inline constexpr std::string_view kNoInputGrad = "NO_INPUT_GRAD";
inline constexpr std::string_view kNoGradNeeded = "NO_GRAD_NEEDED";
inline constexpr std::string_view kSaveNone = "SAVE_NONE";
inline constexpr std::string_view kUseAfterRelease = "USE_AFTER_RELEASE";
inline constexpr std::string_view kGraphFreed = "GRAPH_FREED";
inline constexpr std::string_view kReplayMismatch = "REPLAY_MISMATCH";
inline constexpr std::string_view kCollectiveMismatch = "COLLECTIVE_MISMATCH";
inline constexpr std::string_view kHooksTaken = "HOOKS_TAKEN";
inline constexpr std::string_view kViewInplace = "VIEW_INPLACE";
inline constexpr std::string_view kNoGradFn = "NO_GRAD_FN";
inline constexpr std::string_view kReleasedView = "RELEASED_VIEW";
inline constexpr std::string_view kPeerLost = "PEER_LOST";
}  // namespace kind

// An error that the framework would raise in this rank. The message carries the framework's wording, so
// that a user can search for it.
class SubjectError : public std::runtime_error {
 public:
  SubjectError(std::string_view error_kind, const std::string& message)
      : std::runtime_error(message), kind_(error_kind) {}
  const std::string& kind() const { return kind_; }

 private:
  std::string kind_;
};

// The framework would take the whole process down here (kind: the signal's name). Modelled: only the
// rank ends.
class ModelledCrash : public SubjectError {
 public:
  using SubjectError::SubjectError;
};

// This rank waits for something that can never come although every rank lives or has finished.
class HangError : public SubjectError {
 public:
  explicit HangError(const std::string& message) : SubjectError("HANG", message) {}
};

// This rank waited for a peer that left with an error of its own.
class PeerLostError : public SubjectError {
 public:
  explicit PeerLostError(const std::string& message) : SubjectError(kind::kPeerLost, message) {}
};

}  // namespace culprit
