#include "app/runtime_flags.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace culprit {

void add_runtime_flags(CLI::App& app, RuntimeChoice& choice) {
  app.add_option("--device", choice.device,
                 "where the ranks' memory and arithmetic are (cuda is cuda:0); changes no outcome")
      ->type_name("cpu|cuda[:INDEX]")
      ->capture_default_str()
      ->group("Where it runs");
  app.add_option("--comm", choice.comm,
                 "local: ranks are threads that share the device; mpi: a process each, CPU memory; "
                 "nccl: a GPU a rank, from that index on")
      ->type_name("local|mpi|nccl")
      ->capture_default_str()
      ->group("Where it runs");
}

}  // namespace culprit
