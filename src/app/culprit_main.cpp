// The command-line program `culprit`.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "app/cell_flags.hpp"
#include "app/check_command.hpp"
#include "app/diff_command.hpp"
#include "app/isolate_command.hpp"
#include "app/report_command.hpp"
#include "app/repro_command.hpp"
#include "app/run_command.hpp"
#include "app/runtime_flags.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "base/whole_file.hpp"
#include "matrix/cells_file.hpp"
#include "scenario/scenario.hpp"
#include "terminal/progress_bar.hpp"

namespace culprit {
namespace {

struct CellsCommand {
  std::string in, out;
  std::string scenario = "skip_identity_leaf";
  std::optional<std::string> framework;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  RuntimeChoice choice;

  void add_to(CLI::App& app) {
    CLI::App* sub = app.add_subcommand(
        "cells",
        "run a CSV file of cells in this process, write what each came to\n"
        "Exit status: 0 all ran, whatever they came to; 2 usage, 3 could not set up, 77 hardware "
        "missing.");
    sub->add_option("input", in, "cells to run: a header of toggle columns, one cell a line")
        ->required()
        ->type_name("IN.csv");
    sub->add_option("--out", out, "where to write the toggles and results")
        ->required()
        ->type_name("OUT.csv")
        ->check(not_empty());
    sub->add_option("--scenario", scenario,
                    "whose model the cells are of; its own toggles keep their defaults")
        ->capture_default_str();
    sub->add_option(
           "--framework", framework,
           fmt::format(
               "whose rules the engine follows where the file has no such column (default {})",
               Cell{}.framework))
        ->type_name(fmt::format("{}", fmt::join(field("framework").values, "|")));
    sub->add_option("--jobs", jobs, "cells at a time")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    add_runtime_flags(*sub, choice);
  }
  int run() const {
    const Model& model = scenario_named(scenario).model;
    // Refused here: not as a fault of the file.
    if (Cell cell; framework) field("framework").set(cell, *framework);
    if (!std::filesystem::is_regular_file(in))
      throw UsageError(
          fmt::format("{}: is not there or no regular file, expected a CSV file of cells", in));
    std::ifstream input(in);
    if (!input) throw UsageError(fmt::format("{}: can't be read", in));
    CellsFile file;
    try {
      file = read_cells(input, framework);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", in, error.what()));
    }
    if (choice.comm == "mpi")
      throw UsageError("`culprit cells` runs in one process; --comm mpi goes with `culprit run` and "
                       "with scenario programs under mpirun");
    require_one_process(choice, "`culprit cells`");
    const auto runtime = open_runtime(choice);
    WholeFile output(out);
    ProgressBar bar(STDERR_FILENO, file.cells.size(), "cells");
    std::mutex drawing;
    const auto outcomes = run_cells(model, file.cells, jobs, *runtime, [&](std::size_t done) {
      const std::lock_guard lock(drawing);
      bar.update(done);
    });
    bar.clear();
    write_cells(output.out(), file, outcomes);
    output.commit();
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
  ReportCommand report(app);
  DiffCommand diff(app);
  ReproCommand repro(app);
  CellsCommand cells;
  cells.add_to(app);
  IsolateCommand isolate(app);
  CheckCommand check(app);
  app.add_subcommand("list", "list the scenarios");
  // `git bisect run` takes any other status than 0 and 125 for a bad commit, or ends: check must
  // not have another one, whatever becomes of its output.
  const bool is_check = argc > 1 && std::string_view(argv[1]) == "check";
  if (is_check) std::signal(SIGPIPE, SIG_IGN);
  if (const int status = parse_or_report(app, argc, argv); status >= 0)
    return is_check && status != 0 ? kExitCannotTell : status;
  const int status = guarded("culprit", [&] {
    if (app.got_subcommand("run")) return run.run({argv, argv + argc});
    if (app.got_subcommand("report")) return report.run();
    if (app.got_subcommand("diff")) return diff.run();
    if (app.got_subcommand("repro")) return repro.run();
    if (app.got_subcommand("cells")) return cells.run();
    if (app.got_subcommand("isolate")) return isolate.run({argv, argv + argc});
    if (app.got_subcommand("check")) return check.run();
    return list_scenarios();
  });
  return is_check && status > 1 ? kExitCannotTell : status;
}
