// Of every rank of a job whether it runs, waits (and for whom), has finished or has failed. From
// that alone it follows, exactly and without a timer, which waits can never end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace culprit {

// Not thread-safe.
class RankTable {
 public:
  enum class Verdict { kNone, kReady, kPeerLost, kHang };
  // World ranks whose contribution a wait still needs; called again whenever something changed.
  using Missing = std::function<std::vector<int>()>;

  explicit RankTable(int size) : ranks_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(ranks_.size()); }

  void finished(int rank) { ranks_[rank].state = State::kFinished; }
  void failed(int rank) { ranks_[rank].state = State::kFailed; }
  // `what` names the place in messages.
  void starts_waiting(int rank, const std::string& what, Missing missing);
  // After a verdict.
  void goes_on(int rank);
  Verdict verdict(int rank) const { return ranks_[rank].verdict; }
  const std::string& reason(int rank) const { return ranks_[rank].reason; }

  // Decides every wait that has become possible or impossible, and calls decided(rank) for it.
  void settle(const std::function<void(int rank)>& decided);
  // Who waits where for whom, of all undecided waits; empty: none.
  std::string waits() const;
  // Ranks that neither wait nor have ended.
  std::vector<int> running() const;

 private:
  enum class State { kRunning, kWaiting, kFinished, kFailed };
  struct Rank {
    State state = State::kRunning;
    std::string waits_at;
    Missing missing;
    Verdict verdict = Verdict::kNone;
    std::string reason;
    bool undecided() const { return state == State::kWaiting && verdict == Verdict::kNone; }
  };
  std::vector<Rank> ranks_;
};

// Members gave unequally much to the collective `what`: which, in words. `num_elements` by member.
std::string mismatch_text(const std::string& what, const std::vector<int>& members,
                          const std::vector<std::optional<std::int64_t>>& num_elements);

}  // namespace culprit
