#include "comm/rank_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace culprit {

void RankTable::starts_waiting(int rank, const std::string& what, Missing missing) {
  ranks_[rank] = {.state = State::kWaiting,
                  .waits_at = what,
                  .missing = std::move(missing),
                  .verdict = Verdict::kNone,
                  .reason = {}};
}

void RankTable::goes_on(int rank) {
  ranks_[rank].missing = nullptr;
  ranks_[rank].state = State::kRunning;
}

void RankTable::settle(const std::function<void(int rank)>& decided) {
  const auto decide = [&](std::size_t rank, Verdict verdict, std::string reason) {
    ranks_[rank].verdict = verdict;
    ranks_[rank].reason = std::move(reason);
    decided(static_cast<int>(rank));
  };
  bool any_can_move = false;
  for (std::size_t me = 0; me < ranks_.size(); ++me) {
    Rank& rank = ranks_[me];
    any_can_move |= rank.state == State::kRunning ||
                    (rank.state == State::kWaiting && rank.verdict != Verdict::kNone);
    if (!rank.undecided()) continue;
    const std::vector<int> missing = rank.missing();
    if (missing.empty()) {
      decide(me, Verdict::kReady, "");
      any_can_move = true;
      continue;
    }
    const auto in_state = [&](State state) {
      return std::find_if(missing.begin(), missing.end(),
                          [&](int peer) { return ranks_[peer].state == state; });
    };
    if (const auto peer = in_state(State::kFailed); peer != missing.end()) {
      decide(
          me, Verdict::kPeerLost,
          fmt::format("rank {} waits in {} for rank {}, which has left", me, rank.waits_at, *peer));
      any_can_move = true;
    } else if (const auto done = in_state(State::kFinished);
               std::all_of(missing.begin(), missing.end(),
                           [&](int member) { return ranks_[member].state == State::kFinished; })) {
      // Not before: another missing peer may still fail, and then this rank has lost it. What a
      // rank comes to must not depend on which of two peers ends first.
      decide(me, Verdict::kHang,
             fmt::format("rank {} waits in {} for rank {}, which has finished", me, rank.waits_at,
                         *done));
      any_can_move = true;
    }
  }
  if (any_can_move) return;
  // Nobody runs, and no wait can be decided by itself: the waits form a cycle.
  const std::string all = waits();
  for (std::size_t me = 0; me < ranks_.size(); ++me)
    if (ranks_[me].undecided()) decide(me, Verdict::kHang, all);
}

std::string RankTable::waits() const {
  std::string all;
  for (std::size_t me = 0; me < ranks_.size(); ++me) {
    if (!ranks_[me].undecided()) continue;
    all += fmt::format("{}rank {} waits in {} for rank", all.empty() ? "" : "; ", me,
                       ranks_[me].waits_at);
    for (const int peer : ranks_[me].missing()) all += fmt::format(" {}", peer);
  }
  return all;
}

std::vector<int> RankTable::running() const {
  std::vector<int> list;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].state == State::kRunning) list.push_back(static_cast<int>(rank));
  return list;
}

std::string mismatch_text(const std::string& what, const std::vector<int>& members,
                          const std::vector<std::optional<std::int64_t>>& num_elements) {
  const auto odd = std::find_if(num_elements.begin(), num_elements.end(),
                                [&](const auto& count) { return *count != *num_elements[0]; });
  return fmt::format("{}: rank {} gave {} elements, rank {} gave {}", what, members[0],
                     *num_elements[0],
                     members[static_cast<std::size_t>(odd - num_elements.begin())], **odd);
}

}  // namespace culprit
