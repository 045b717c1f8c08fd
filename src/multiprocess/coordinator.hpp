// The one place that knows what every process of a job is at. It lives in a thread of rank 0's
// process; each process, that one too, has one connection to it.
//
// It decides as LocalWorld does, by the same table: a collective is told complete only when all
// members have come, a wait that can never end is told at once, with who waits where. So nothing
// ever waits in MPI or NCCL for a rank that does not come, except for one that is killed on its
// way: then the connection closes, and everybody is told that the job has ended. One that stops
// gives no beat, and is taken for lost likewise; each process judges the coordinator's own so.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "multiprocess/channel.hpp"

namespace culprit {

struct CoordinatorSettings {
  int num_processes = 1;
  std::string key;  // who does not know it is not let in
  // Until every process has said hello, and, later, for each to come to where others wait outside a
  // world.
  std::chrono::milliseconds meeting_deadline{60000};
  // While ranks wait and none finishes an operation: the job is a HANG.
  std::chrono::milliseconds stall_deadline{10000};
};

class Coordinator {
 public:
  Coordinator(Listener listener, CoordinatorSettings settings);
  // Waits until every process has left, or the job has ended.
  ~Coordinator();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
  std::jthread thread_;
};

}  // namespace culprit
