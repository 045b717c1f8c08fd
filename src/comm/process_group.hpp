// The processes that run one job together, as one of them sees them: what they tell one another
// beside the ranks' own communication.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace culprit {

// The job can't go on: a process of it is gone, or nothing has happened for too long. Every process
// gets it, with the same words. Its exit status is that of an outcome: 16 (CRASH), 14 (HANG).
class JobEndedError : public Error {
 public:
  using Error::Error;
};

// Every call is made by all processes in the same order, from one thread each. Errors:
// JobEndedError.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // On rank 0 every process's bytes in rank order, on the others nothing.
  virtual std::vector<std::string> gather(std::string mine) = 0;
  // What rank 0 gave, on every process.
  virtual std::string broadcast(std::string from_rank_0) = 0;
  // One operation finished. Any thread.
  virtual void tick() = 0;
};

}  // namespace culprit
