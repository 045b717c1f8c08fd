#include "trace/collective_diff.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace culprit {
namespace {

// The streams are compared up to this many calls past their first difference.
constexpr std::size_t kWindow = 256;

struct Call {
  TraceEvent::Kind kind;
  std::string name;
  std::string group;
  int peer;
  std::int64_t num_elements;
  bool same_call(const Call& other) const {
    return kind == other.kind && name == other.name && group == other.group && peer == other.peer;
  }
  bool operator==(const Call&) const = default;
};

std::vector<Call> calls_of(const RankTrace& rank) {
  std::vector<Call> calls;
  for (const TraceEvent& event : rank.events)
    if (event.kind == TraceEvent::Kind::kCollective || event.kind == TraceEvent::Kind::kSend ||
        event.kind == TraceEvent::Kind::kReceive)
      calls.push_back({event.kind, event.name, event.group, event.peer, event.num_elements});
  return calls;
}

std::string in_words(const Call& call) {
  std::string text = call.name;
  if (call.peer >= 0)
    text += fmt::format(" {} stage {}", call.kind == TraceEvent::Kind::kSend ? "to" : "from",
                        call.peer);
  return text +
         (call.num_elements == 0 ? " (nothing)" : fmt::format(" ({} elements)", call.num_elements));
}

// Length of the longest common subsequence of the tails, by where the tails begin.
std::vector<std::vector<std::size_t>> common_lengths(const std::vector<Call>& a,
                                                     const std::vector<Call>& b) {
  std::vector<std::vector<std::size_t>> length(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      length[i][j] =
          a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
  return length;
}

std::optional<CollectiveDifference> first_difference(const RankTrace& failing,
                                                     const RankTrace& passing) {
  std::vector<Call> got = calls_of(failing), expected = calls_of(passing);
  const auto [at, _] = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  const auto position = static_cast<std::size_t>(at - got.begin());
  if (position == got.size() && position == expected.size()) return std::nullopt;
  const auto tail = [&](const std::vector<Call>& calls) {
    const auto end = std::min(calls.size(), position + kWindow);
    return std::vector<Call>(calls.begin() + static_cast<std::ptrdiff_t>(position),
                             calls.begin() + static_cast<std::ptrdiff_t>(end));
  };
  got = tail(got);
  expected = tail(expected);

  CollectiveDifference difference;
  difference.stage = failing.stage;
  difference.tp_rank = failing.tp_rank;
  difference.position = position;
  const auto later = [](const std::vector<Call>& calls, const Call& call) {
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  };
  using Kind = CollectiveDifference::Kind;
  if (!got.empty() && !expected.empty() && got[0].same_call(expected[0])) {
    difference.kind = Kind::kDifferentSize;
    difference.call = in_words(got[0]);
    difference.in_words = fmt::format("call {} is {}, in the passing run {}", position,
                                      in_words(got[0]), in_words(expected[0]));
    return difference;
  }
  const auto length = common_lengths(got, expected);
  // Dropping the expected call must lose nothing of what is common, else the failing call is the
  // odd one.
  const bool expected_is_odd = !expected.empty() && (got.empty() || length[0][1] >= length[1][0]);
  if (!expected_is_odd) {
    difference.kind = later(expected, got[0]) ? Kind::kReordered : Kind::kExtra;
    difference.call = in_words(got[0]);
    difference.in_words =
        difference.kind == Kind::kExtra
            ? fmt::format("call {}, {}, is not in the passing run", position, in_words(got[0]))
            : fmt::format("call {}, {}, comes later in the passing run", position,
                          in_words(got[0]));
    return difference;
  }
  difference.kind = later(got, expected[0]) ? Kind::kReordered : Kind::kMissing;
  difference.call = in_words(expected[0]);
  if (difference.kind == Kind::kReordered)
    difference.in_words = fmt::format("{} is call {} of the passing run and comes later here",
                                      in_words(expected[0]), position);
  else if (got.empty())
    difference.in_words = fmt::format("ends after {} call{}; the next of the passing run is {}",
                                      position, position == 1 ? "" : "s", in_words(expected[0]));
  else
    difference.in_words =
        fmt::format("call {} of the passing run, {}, is missing", position, in_words(expected[0]));
  return difference;
}

}  // namespace

std::vector<CollectiveDifference> diff_collectives(const CellTrace& failing,
                                                   const CellTrace& passing) {
  std::vector<CollectiveDifference> differences;
  for (const RankTrace& rank : failing.ranks)
    for (const RankTrace& other : passing.ranks)
      if (rank.stage == other.stage && rank.tp_rank == other.tp_rank)
        if (auto difference = first_difference(rank, other))
          differences.push_back(std::move(*difference));
  return differences;
}

}  // namespace culprit
