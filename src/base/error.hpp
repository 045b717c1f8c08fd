// Errors of the harness. A defect of the subject under test is never one of these: it is data (an
// Outcome, a RankResult). Messages say what was got, what was expected, and what to do.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "base/exit_status.hpp"

namespace culprit {

// Base of all harness errors; exit_status() is what a program that catches it returns (exit_status.hpp).
class Error : public std::runtime_error {
 public:
  Error(int exit_status, const std::string& message)
      : std::runtime_error(message), exit_status_(exit_status) {}
  int exit_status() const { return exit_status_; }

 private:
  int exit_status_;
};

// The caller's mistake: an unknown flag, a value out of range, an impossible size. Exit 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(2, message) {}
};

// The harness could not be set up: a process that can't start, a folder that can't be written. Exit 3.
class SetupError : public Error {
 public:
  explicit SetupError(const std::string& message) : Error(3, message) {}
};

// The hardware or runtime asked for is not here (no GPU, no MPI). Exit 77, which CTest shows as skipped.
class UnavailableError : public Error {
 public:
  explicit UnavailableError(const std::string& message) : Error(77, message) {}
};

// Whatever was thrown in the harness, as a value: for another process, or for several threads, each of
// which throws an error of its own. (The count that frees an exception shared by threads is kept inside
// libstdc++, where ThreadSanitizer does not see it: it reports a race.)
struct Trouble {
  int exit_status;
  std::string words;

  [[noreturn]] void raise() const { throw Error(exit_status, words); }
};
inline Trouble trouble_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return {error.exit_status(), error.what()};
  } catch (const std::exception& error) {
    return {kExitSetup, error.what()};
  }
}

}  // namespace culprit
