// Flags for sizes and toggles, made from the table in config/cell.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scenario/scenario.hpp"

namespace CLI {
class App;
class Validator;
}

namespace culprit {

// The settings given on a command line, in the table's order; only those that were given.
class CellFlags {
 public:
  // Adds one flag a field of the common table and of `own` (which must outlive it), and --skip-c-identity.
  explicit CellFlags(CLI::App& app, const std::vector<Field>& own = {});
  ~CellFlags();
  // After parsing. Errors: UsageError when --skip-c-identity contradicts --identity.
  Settings given() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Refuses an empty value: it is an unset variable in the user's script, not a wish for the default.
CLI::Validator not_empty();
// As CLI::Range, which lets NaN through.
CLI::Validator seconds_between(double low, double high);

// Opens what is missing of the standard streams, then parses argv; returns an exit status if the program is to end now (help, version, an error, which is
// printed with the nearest valid flag), else -1.
int parse_or_report(CLI::App& app, int argc, char** argv);

// Calls `body` and turns an Error into its message on stderr and its exit status; any other exception is
// kExitSetup.
int guarded(const std::string& program, const std::function<int()>& body);

}  // namespace culprit
