#include "trace/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace culprit {
namespace {

using Kind = TraceEvent::Kind;

// Tells the collectives of one group apart: its stage (tensor group) and the call's number.
using CollectiveKey = std::pair<int, int>;
// One direction between two stages of a pipe: tensor rank, from, to.
using ChannelKey = std::tuple<int, int, int>;

class Layout {
 public:
  explicit Layout(const CellTrace& trace) : trace_(trace), places_(trace.ranks.size()) {
    for (const RankTrace& rank : trace.ranks) {
      ++members_[rank.stage];
      TimelineRow& row = rows_.emplace_back();
      row.title = fmt::format("stage {}, rank {}", rank.stage, rank.tp_rank);
      row.error_kind = rank.error_kind;
    }
  }

  std::vector<TimelineRow> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < places_.size(); ++i)
        while (step(i)) moved = true;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].ended = places_[i].clock;
      gather_phases(i);
    }
    return std::move(rows_);
  }

 private:
  struct Place {
    std::size_t next = 0;
    std::int64_t clock = 0;
  };
  struct Collective {
    int arrived = 0;
    std::int64_t last_arrival = 0;
  };

  // Runs the rank's next event if it can run now.
  bool step(std::size_t i) {
    Place& place = places_[i];
    const RankTrace& rank = trace_.ranks[i];
    if (place.next == rank.events.size()) return false;
    const TraceEvent& event = rank.events[place.next];
    switch (event.kind) {
      case Kind::kOperator:
      case Kind::kCustomFunction:
      case Kind::kNodeBackward:
      case Kind::kRaised:
        advance(i, span_kind(event), place.clock + 1);
        return true;
      case Kind::kCollective: {
        Collective& collective = collectives_[{rank.stage, event.collective}];
        ++collective.arrived;
        collective.last_arrival = std::max(collective.last_arrival, place.clock);
        started_[{i, event.collective}] = place.clock;
        ++place.next;
        return true;
      }
      case Kind::kCollectiveWait: {
        const Collective& collective = collectives_[{rank.stage, event.collective}];
        if (collective.arrived < members_[rank.stage]) return false;
        wait_until(i, collective.last_arrival);
        const std::int64_t done = collective.last_arrival + 1;
        const std::int64_t begin =
            std::max(started_[{i, event.collective}], collective.last_arrival);
        add(i, TimelineSpan::Kind::kCollective, begin, std::max(done, begin + 1));
        place.clock = std::max(place.clock, done);
        ++place.next;
        return true;
      }
      case Kind::kSend:
        advance(i, TimelineSpan::Kind::kTransfer, place.clock + 1);
        sent_[{rank.tp_rank, rank.stage, event.peer}].push_back(place.clock);
        return true;
      case Kind::kReceive: {
        const ChannelKey channel{rank.tp_rank, event.peer, rank.stage};
        std::size_t& taken = taken_[channel];
        const auto& messages = sent_[channel];
        if (taken == messages.size()) return false;
        wait_until(i, messages[taken++]);
        advance(i, TimelineSpan::Kind::kTransfer, place.clock + 1);
        return true;
      }
    }
    return false;
  }

  static TimelineSpan::Kind span_kind(const TraceEvent& event) {
    if (event.pass == "forward") return TimelineSpan::Kind::kForward;
    if (event.pass != "backward") return TimelineSpan::Kind::kOther;
    return event.in_recompute && event.kind != Kind::kNodeBackward ? TimelineSpan::Kind::kRecompute
                                                                   : TimelineSpan::Kind::kBackward;
  }
  void add(std::size_t i, TimelineSpan::Kind kind, std::int64_t begin, std::int64_t end) {
    const TraceEvent& event = trace_.ranks[i].events[places_[i].next];
    rows_[i].events.push_back({.kind = kind,
                               .name = event.name,
                               .micro_batch = event.micro_batch,
                               .begin = begin,
                               .end = end,
                               .first_event = places_[i].next,
                               .last_event = places_[i].next});
  }
  void advance(std::size_t i, TimelineSpan::Kind kind, std::int64_t end) {
    add(i, kind, places_[i].clock, end);
    places_[i].clock = end;
    ++places_[i].next;
  }
  void wait_until(std::size_t i, std::int64_t time) {
    if (time <= places_[i].clock) return;
    add(i, TimelineSpan::Kind::kWait, places_[i].clock, time);
    places_[i].clock = time;
  }

  // What a rank did for one micro-batch in one pass, waits at its edges left out, is one phase.
  void gather_phases(std::size_t i) {
    std::optional<TimelineSpan> open;
    const auto close = [&] {
      if (open) rows_[i].phases.push_back(*std::exchange(open, std::nullopt));
    };
    for (const TimelineSpan& span : rows_[i].events) {
      if (span.kind == TimelineSpan::Kind::kWait) continue;
      const TraceEvent& event = trace_.ranks[i].events[span.first_event];
      const TimelineSpan::Kind kind = span_kind(event);
      if (open && (open->kind != kind || open->micro_batch != span.micro_batch)) close();
      if (!open) {
        open = span;
        open->kind = kind;
        open->name = kind == TimelineSpan::Kind::kRecompute ? "recompute" : event.pass;
      }
      open->end = span.end;
      open->last_event = span.last_event;
    }
    close();
  }

  const CellTrace& trace_;
  std::vector<Place> places_;
  std::vector<TimelineRow> rows_;
  std::map<int, int> members_;  // of the tensor group, by stage
  std::map<CollectiveKey, Collective> collectives_;
  std::map<std::pair<std::size_t, int>, std::int64_t> started_;  // by rank and the call's number
  std::map<ChannelKey, std::vector<std::int64_t>> sent_;         // when each message was there
  std::map<ChannelKey, std::size_t> taken_;
};

}  // namespace

std::vector<TimelineRow> lay_out(const CellTrace& trace) { return Layout(trace).run(); }

}  // namespace culprit
