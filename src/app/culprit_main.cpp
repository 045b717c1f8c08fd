// The command-line program `culprit`.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "app/cell_flags.hpp"
#include "app/run_command.hpp"
#include "app/runtime_flags.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "base/whole_file.hpp"
#include "matrix/cells_file.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

struct CellsCommand {
  std::string in, out;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  RuntimeChoice choice;

  void add_to(CLI::App& app) {
    CLI::App* sub = app.add_subcommand(
        "cells", "run a CSV file of cells in this process, write what each came to");
    sub->add_option("input", in, "cells to run: a header of toggle columns, one cell a line")
        ->required()
        ->type_name("IN.csv");
    sub->add_option("--out", out, "where to write the toggles and results")
        ->required()
        ->type_name("OUT.csv");
    sub->add_option("--jobs", jobs, "cells at a time")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    add_runtime_flags(*sub, choice);
  }
  int run() const {
    std::ifstream input(in);
    if (!input) throw UsageError(fmt::format("{}: can't be read", in));
    CellsFile file;
    try {
      file = read_cells(input);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", in, error.what()));
    }
    const auto runtime = open_runtime(choice);
    const auto outcomes =
        run_cells(scenario_named("skip_identity_leaf").model, file.cells, jobs, *runtime);
    write_whole_file(out, [&](std::ostream& output) { write_cells(output, file, outcomes); });
    return 0;
  }
};

int list_scenarios() {
  for (const Scenario* scenario : all_scenarios())
    fmt::print("{:<40} {}\n", scenario->name, scenario->title);
  return 0;
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  using namespace culprit;
  CLI::App app{
      "Finds which combination of parallelism switches breaks a training step, and which fix "
      "clears it.",
      "culprit"};
  app.set_version_flag("--version", std::string(kVersionText));
  app.require_subcommand(1);
  RunCommand run(app);
  CellsCommand cells;
  cells.add_to(app);
  app.add_subcommand("list", "list the scenarios");
  if (const int status = parse_or_report(app, argc, argv); status >= 0) return status;
  return guarded("culprit", [&] {
    if (app.got_subcommand("run")) return run.run({argv, argv + argc});
    if (app.got_subcommand("cells")) return cells.run();
    return list_scenarios();
  });
}
