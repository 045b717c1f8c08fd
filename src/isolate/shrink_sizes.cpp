// See shrink_sizes.hpp.
#include "isolate/shrink_sizes.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.hpp"

namespace culprit {
namespace {

// The values of one axis in rising order, by position; a plain range is not written out.
class AxisValues {
 public:
  explicit AxisValues(const SizeAxis& axis) : minimum_(axis.minimum), current_(axis.current) {
    for (const std::int64_t value : axis.candidates) {
      if (value >= axis.minimum && value < axis.current) listed_.push_back(value);
    }
    is_range_ = axis.candidates.empty();
    if (is_range_) return;
    listed_.push_back(axis.current);
    std::sort(listed_.begin(), listed_.end());
    listed_.erase(std::unique(listed_.begin(), listed_.end()), listed_.end());
  }
  std::int64_t count() const {
    return is_range_ ? current_ - minimum_ + 1 : static_cast<std::int64_t>(listed_.size());
  }
  std::int64_t at(std::int64_t place) const {
    return is_range_ ? minimum_ + place : listed_[static_cast<std::size_t>(place)];
  }

 private:
  std::int64_t minimum_;
  std::int64_t current_;
  bool is_range_ = true;
  std::vector<std::int64_t> listed_;
};

// Thrown where no further trial may run, or can.
struct ShrinkStopped {};

class Shrinker {
 public:
  Shrinker(const std::vector<SizeAxis>& axes, const std::string& fingerprint,
           const ShrinkOptions& options, const EvaluateSizes& evaluate)
      : fingerprint_(fingerprint), options_(options), evaluate_(evaluate) {
    for (const SizeAxis& axis : axes) {
      values_.emplace_back(axis);
      places_.push_back(values_.back().count() - 1);
      result_.sizes.push_back(axis.current);
    }
    result_.is_smallest.assign(axes.size(), false);
  }

  ShrinkResult run() {
    try {
      shrink();
      result_.complete = true;
    } catch (const ShrinkStopped&) {
    }
    return result_;
  }

 private:
  enum class Seen { kFails, kGone, kUnresolved };

  Sizes sizes_at(const std::vector<std::int64_t>& places) const {
    Sizes sizes;
    for (std::size_t i = 0; i < places.size(); ++i) sizes.push_back(values_[i].at(places[i]));
    return sizes;
  }

  Seen test(const std::vector<std::int64_t>& places) {
    const Sizes sizes = sizes_at(places);
    const auto [known, is_new] = seen_.try_emplace(sizes, Seen::kUnresolved);
    if (!is_new) return known->second;
    SizeTrial record;
    record.sizes = sizes;
    for (std::size_t repeat = 0; repeat < options_.repeats; ++repeat) {
      if (result_.num_trials == options_.max_trials) throw ShrinkStopped{};
      const std::vector<Trial> trials = evaluate_(std::span(&sizes, 1));
      if (trials.empty()) throw ShrinkStopped{};
      ++result_.num_trials;
      ++record.runs;
      record.last = trials.front();
      const bool fails =
          record.last.status == Trial::Status::kFail && record.last.fingerprint == fingerprint_;
      if (fails) known->second = Seen::kFails;
      if (fails) break;
      if (record.last.status != Trial::Status::kUnresolved) known->second = Seen::kGone;
    }
    result_.trials.push_back(std::move(record));
    return known->second;
  }

  void take(const std::vector<std::int64_t>& places) {
    places_ = places;
    result_.sizes = sizes_at(places);
  }

  // The nearest place to `middle` strictly between low and high not yet passed over.
  static std::optional<std::int64_t> open_between(std::int64_t low, std::int64_t high,
                                                  const std::map<std::int64_t, bool>& skipped) {
    const std::int64_t middle = low + (high - low) / 2;
    for (std::int64_t away = 0; away < high - low; ++away) {
      if (middle + away > low && middle + away < high && skipped.count(middle + away) == 0)
        return middle + away;
      if (middle - away > low && skipped.count(middle - away) == 0) return middle - away;
    }
    return std::nullopt;
  }

  void shrink_axis(std::size_t axis) {
    std::vector<std::int64_t> places = places_;
    std::int64_t high = places[axis];
    std::int64_t low = -1;  // nothing lower than place 0
    if (high == 0) return;
    std::map<std::int64_t, bool> skipped;
    for (std::optional<std::int64_t> next = 0; next; next = open_between(low, high, skipped)) {
      places[axis] = *next;
      switch (test(places)) {
        case Seen::kFails:
          high = *next;
          take(places);
          break;
        case Seen::kGone:
          low = *next;
          break;
        case Seen::kUnresolved:
          skipped[*next] = true;
          break;
      }
      if (high == 0) return;
    }
  }

  void shrink() {
    if (test(places_) != Seen::kFails) {
      throw UsageError("the sizes given do not fail with '" + fingerprint_ + "', expected that");
    }
    const std::vector<std::int64_t> smallest(places_.size(), 0);
    if (test(smallest) == Seen::kFails) take(smallest);
    for (bool moved = true; moved;) {
      const std::vector<std::int64_t> before = places_;
      for (std::size_t axis = 0; axis < places_.size(); ++axis) shrink_axis(axis);
      moved = places_ != before;
    }
    for (std::size_t axis = 0; axis < places_.size(); ++axis) {
      std::vector<std::int64_t> lower = places_;
      --lower[axis];
      result_.is_smallest[axis] = places_[axis] == 0 || test(lower) == Seen::kGone;
    }
  }

  const std::string& fingerprint_;
  const ShrinkOptions& options_;
  const EvaluateSizes& evaluate_;
  std::vector<AxisValues> values_;
  std::vector<std::int64_t> places_;
  std::map<Sizes, Seen> seen_;
  ShrinkResult result_;
};

}  // namespace

ShrinkResult shrink_sizes(const std::vector<SizeAxis>& axes, const std::string& fingerprint,
                          const ShrinkOptions& options, const EvaluateSizes& evaluate) {
  if (axes.empty()) throw UsageError("no sizes to shrink");
  if (options.max_trials == 0 || options.repeats == 0) {
    throw UsageError("max_trials and repeats of shrinking must be at least 1");
  }
  for (const SizeAxis& axis : axes) {
    if (axis.minimum > axis.current) {
      throw UsageError("size '" + axis.name + "': minimum " + std::to_string(axis.minimum) +
                       " is above the current " + std::to_string(axis.current));
    }
  }
  return Shrinker(axes, fingerprint, options, evaluate).run();
}

}  // namespace culprit
