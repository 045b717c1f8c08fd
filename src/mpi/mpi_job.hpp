// What the MPI plug-in gives the programs; nothing else of this folder is used outside it.
#pragma once

#include <exception>
#include <string>

#include "multiprocess/data_path.hpp"

namespace culprit {

// MPI of this process, from its start to its end; one at a time. Every call from one thread at a
// time, but abort() of the path.
class MpiJob {
 public:
  virtual ~MpiJob() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  // among the processes of this node
  virtual bool is_one_node() const = 0;
  // What rank 0 gave, on every process.
  virtual std::string broadcast(std::string from_rank_0) = 0;
  // Of the ranks' CPU memory.
  virtual DataPath& path() = 0;
  virtual std::string description() const = 0;
};

// Gives a new job that the caller owns, or null and the error.
using OpenMpi = MpiJob* (*)(std::exception_ptr* error);
inline constexpr const char* kMpiLibrary = "libculprit_mpi.so";
inline constexpr const char* kMpiFunction = "culprit_open_mpi";

}  // namespace culprit
