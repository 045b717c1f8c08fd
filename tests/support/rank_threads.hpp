// Support: a job of rank threads over any communicator backend, what each rank raised, what it returned.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/subject_error.hpp"
#include "comm/communicator.hpp"
#include "gtest/gtest.h"

namespace culprit::test {

// What a communicator backend must offer to be tested: groups of one job, and ranks that end.
class TestWorld {
 public:
  virtual ~TestWorld() = default;
  virtual std::unique_ptr<Communicator> group(int group_id, std::vector<int> members, int me) = 0;
  virtual void finished(int world_rank) = 0;
  virtual void failed(int world_rank) = 0;
};

struct WorldFactory {
  std::string name;
  std::function<std::unique_ptr<TestWorld>(int size)> make;
};

inline std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

struct RankEnd {
  std::string kind, message;  // of a SubjectError; empty if the rank finished
};

// Runs body(rank, world) on `size` threads. A SubjectError ends a rank as failed and is returned; anything
// else that a rank throws fails the test. Use EXPECT in the body: ASSERT leaves only the lambda.
inline std::vector<RankEnd> run_ranks(const WorldFactory& factory, int size,
                                      const std::function<void(int rank, TestWorld& world)>& body) {
  const std::unique_ptr<TestWorld> world = factory.make(size);
  std::vector<RankEnd> ends(static_cast<std::size_t>(size));
  std::vector<std::string> broken(ends.size());
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(rank, *world);
          world->finished(rank);
        } catch (const SubjectError& error) {
          ends[rank] = {error.kind(), error.what()};
          world->failed(rank);
        } catch (const std::exception& error) {
          broken[rank] = error.what();
          world->failed(rank);
        }
      });
  }
  for (int rank = 0; rank < size; ++rank)
    EXPECT_EQ(broken[rank], "") << "rank " << rank << " threw what is no subject's error";
  return ends;
}

}  // namespace culprit::test
