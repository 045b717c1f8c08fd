// The backends that the contract is checked on; a new communicator adds a row.
#pragma once

#include "comm/local_world.hpp"
#include "support/rank_threads.hpp"

namespace culprit::test {

class LocalTestWorld final : public TestWorld {
 public:
  explicit LocalTestWorld(int size) : world_(size) {}
  std::unique_ptr<Communicator> group(int group_id, std::vector<int> members, int me) override {
    return world_.group(group_id, std::move(members), me);
  }
  void finished(int world_rank) override { world_.finished(world_rank); }
  void failed(int world_rank) override { world_.failed(world_rank); }

 private:
  LocalWorld world_;
};

inline std::vector<WorldFactory> communicator_backends() {
  return {{"Threads", [](int size) { return std::make_unique<LocalTestWorld>(size); }}};
}

}  // namespace culprit::test
