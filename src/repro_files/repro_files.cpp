#include "repro_files/repro_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "base/whole_file.hpp"
#include "isolate/shrink_sizes.hpp"
#include "outcome/run_once.hpp"
#include "repro_files/repro_plan.hpp"

namespace culprit {

const std::string& name_of(const ReproResult& result) {
  return std::visit([](const auto& file) -> const std::string& { return file.name; }, result);
}

ReproRequest at_smallest_sizes(const ReproRequest& request) {
  struct Size {
    const char* name;
    int Cell::*member;
    std::int64_t minimum;
    std::vector<std::int64_t> candidates = {};
  };
  const Cell& given = request.cell;
  const auto from = [](int value, std::int64_t minimum) {
    return std::min<std::int64_t>(value, minimum);
  };
  // Parallelism that is on stays on. Features and tokens go down to the defaults only: fewer read
  // no better.
  const std::vector<Size> sizes{
      {"acc", &Cell::acc, 1},
      {"pp", &Cell::pp, from(given.pp, 2)},
      {"blocks", &Cell::blocks, 1},
      {"tp", &Cell::tp, from(given.tp, 2)},
      {"hidden", &Cell::hidden, from(given.hidden, Cell{}.hidden), {Cell{}.hidden}},
      {"tokens", &Cell::tokens, from(given.tokens, Cell{}.tokens), {Cell{}.tokens}},
      {"fan_out", &Cell::fan_out, from(given.fan_out, 2)}};
  std::vector<SizeAxis> axes;
  for (const Size& size : sizes)
    axes.push_back({.name = size.name,
                    .current = given.*size.member,
                    .minimum = size.minimum,
                    .candidates = size.candidates});
  const auto cell_of = [&](const Sizes& values) {
    Cell cell = given;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      cell.*sizes[i].member = static_cast<int>(values[i]);
    return cell;
  };
  const auto evaluate = [&](std::span<const Sizes> batch) {
    std::vector<Trial> trials;
    for (const Sizes& values : batch) {
      const Cell cell = cell_of(values);
      Trial trial;
      if (why_impossible(cell).empty()) {
        const Outcome outcome = run_once(request.scenario.model, cell);
        trial.status =
            outcome.outcome == OutcomeClass::kPass ? Trial::Status::kPass : Trial::Status::kFail;
        trial.fingerprint = fingerprint(outcome);
      }
      trials.push_back(trial);
    }
    return trials;
  };
  ReproRequest smallest = request;
  smallest.cell = cell_of(shrink_sizes(axes, fingerprint(request.outcome), {}, evaluate).sizes);
  smallest.outcome = run_once(request.scenario.model, smallest.cell);
  return smallest;
}

std::vector<ReproResult> refuse_all(const std::string& reason) {
  return {ReproRefusal{"repro.py", reason}, ReproRefusal{"repro.cpp", reason},
          ReproRefusal{"repro_test.cpp", reason}};
}

void write_repro_files(const std::filesystem::path& folder, const std::vector<ReproResult>& files) {
  for (const ReproResult& result : files) {
    const auto* file = std::get_if<ReproFile>(&result);
    if (!file) continue;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
      throw SetupError(fmt::format("{}: can't be made: {}", folder.string(), error.message()));
    write_whole_file(folder / file->name, file->text);
  }
}

std::vector<ReproResult> make_repro_files(const ReproRequest& request) {
  const ReproPlan plan = make_plan(request);
  if (const std::string reason = why_inexpressible(plan, request.outcome); !reason.empty())
    return refuse_all(reason);
  return {python_repro(plan), cpp_repro(plan), cpp_test(plan)};
}

}  // namespace culprit
