// How many trials isolation needs, over 50 seeds a case, beside plain ddmin and exhaustive search.
// Prints a table and exits 1 when a median misses its bound: isolate_trials_benchmark [seeds]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "isolate/ddmin.hpp"
#include "isolate/planted.hpp"
#include "isolate/search.hpp"

namespace culprit {
namespace {

using planted::Bug;
using planted::Program;

struct Sample {
  std::size_t trials = 0;
  bool all_found = false;
  double overhead_us = 0.0;  // of the search itself, a trial
};

struct Case {
  std::string name;
  std::size_t trial_bound;  // for the median; 0: none
  std::vector<Bug> (*plant)(Random&, std::uint64_t seed);
  bool repeat_passes;
};

bool finds(const SearchResult& result, const Bug& bug) {
  return std::any_of(
      result.combinations.begin(), result.combinations.end(), [&](const Combination& one) {
        return one.settings == bug.settings && one.fingerprint == bug.fingerprint && one.proven;
      });
}

Sample run_search(const Case& one, std::uint64_t seed) {
  Random random(seed * 7919 + 17);
  const Space space = planted::two_valued(40);
  Program program(one.plant(random, seed), seed);
  SearchOptions options;
  options.seed = seed;
  options.flaky = one.repeat_passes;
  const Evaluate evaluate = program.evaluator();
  const auto start = std::chrono::steady_clock::now();
  const SearchResult result = search(space, options, evaluate);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  Sample sample;
  sample.trials = result.trials;
  sample.overhead_us = spent.count() / static_cast<double>(result.trials);
  sample.all_found = result.combinations.size() == program.bugs().size();
  for (const Bug& bug : program.bugs()) sample.all_found = sample.all_found && finds(result, bug);
  return sample;
}

// Plain ddmin of the all-first run: one failure, whichever shows; no inverted switches, no
// certificate.
Sample run_ddmin(const Case& one, std::uint64_t seed) {
  Random random(seed * 7919 + 17);
  const Space space = planted::two_valued(40);
  Program program(one.plant(random, seed), seed);
  const Trial whole = program.run(first_assignment(space));
  Sample sample;
  if (whole.status == Trial::Status::kFail) {
    const std::vector<std::size_t> kept =
        ddmin(space.switches.size(), [&](const std::vector<std::size_t>& subset) {
          Assignment assignment = off_assignment(space);
          for (const std::size_t which : subset) assignment[which] = 0;
          const Trial trial = program.run(assignment);
          const bool same =
              trial.status == Trial::Status::kFail && trial.fingerprint == whole.fingerprint;
          return same ? SubsetOutcome::kFails : SubsetOutcome::kPasses;
        });
    SettingSet settings;
    for (const std::size_t which : kept) settings.push_back({static_cast<std::uint16_t>(which), 0});
    sample.all_found = program.bugs().size() == 1 && program.bugs().front().settings == settings;
  }
  sample.trials = program.num_runs();
  return sample;
}

template <class Value>
Value quantile(std::vector<Value> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

// One table line; true when the bound holds and at least half of the seeds found everything.
bool report(const std::string& method, const Case& one, const std::vector<Sample>& samples) {
  std::vector<std::size_t> trials;
  std::vector<double> overhead;
  std::size_t found = 0;
  for (const Sample& sample : samples) {
    // What a run that missed something would have needed is unknown: it counts as infinitely many.
    trials.push_back(sample.all_found ? sample.trials : ~std::size_t{0});
    overhead.push_back(sample.overhead_us);
    found += sample.all_found ? 1 : 0;
  }
  std::vector<std::size_t> spent;
  for (const Sample& sample : samples) spent.push_back(sample.trials);
  fmt::print("{:<34} {:<7} {:>7} {:>6} {:>6} {:>6} {:>6}/{:<3} {:>8.1f}\n", one.name, method,
             one.trial_bound == 0 ? std::string("-") : std::to_string(one.trial_bound),
             quantile(spent, 0.5), quantile(spent, 0.9), quantile(spent, 1.0), found,
             samples.size(), quantile(overhead, 0.5));
  return one.trial_bound == 0 || quantile(trials, 0.5) <= one.trial_bound;
}

int run(std::uint64_t num_seeds) {
  const std::vector<Case> cases = {
      {"five bugs", 400, [](Random& random, std::uint64_t) { return planted::five_bugs(random); },
       false},
      {"one 3-way", 100,
       [](Random& random, std::uint64_t) {
         std::vector<Bug> bugs = planted::five_bugs(random);
         std::erase_if(bugs, [](const Bug& bug) { return bug.fingerprint != "three-way"; });
         return bugs;
       },
       false},
      {"five bugs, one at 30 %", 1500,
       [](Random& random, std::uint64_t seed) {
         return planted::five_bugs(random, static_cast<int>(seed % 5));
       },
       false},
      {"five bugs, one at 30 %, --flaky", 1500,
       [](Random& random, std::uint64_t seed) {
         return planted::five_bugs(random, static_cast<int>(seed % 5));
       },
       true},
      {"no bug", 0, [](Random&, std::uint64_t) { return std::vector<Bug>{}; }, false},
  };
  fmt::print("40 two-valued switches, {} seeds; exhaustive search would take 2^40 trials\n",
             num_seeds);
  fmt::print("{:<34} {:<7} {:>7} {:>6} {:>6} {:>6} {:>10} {:>8}\n", "case", "method", "bound",
             "median", "p90", "max", "all found", "us/trial");
  bool good = true;
  for (const Case& one : cases) {
    std::vector<Sample> ours;
    std::vector<Sample> plain;
    for (std::uint64_t seed = 1; seed <= num_seeds; ++seed) {
      ours.push_back(run_search(one, seed));
      plain.push_back(run_ddmin(one, seed));
    }
    good = report("search", one, ours) && good;
    Case unbounded = one;
    unbounded.trial_bound = 0;
    report("ddmin", unbounded, plain);
  }
  if (!good) fmt::print("a median is above its bound\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  const long num_seeds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 50;
  if (num_seeds < 1) {
    fmt::print("usage: isolate_trials_benchmark [seeds, at least 1]\n");
    return 2;
  }
  return culprit::run(static_cast<std::uint64_t>(num_seeds));
}
