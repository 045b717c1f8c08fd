// Support: a job of rank threads on any runtime, what each rank raised, and its communicator with
// host vectors in place of a backend's memory.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/subject_error.hpp"
#include "comm/runtime.hpp"
#include "gtest/gtest.h"

namespace culprit::test {

using Floats = std::vector<float>;

// A runtime and a type that a contract is checked with.
struct RuntimeUnderTest {
  std::string name;
  DType dtype = DType::kFloat32;
  std::function<Runtime&()> runtime;  // throws UnavailableError where it is not here
  bool sums_in_rank_order = true;  // and rounds once; else in an order of its own, the same for all
};

// Skips each test, with the reason, where its runtime is not here.
class RuntimeTest : public ::testing::TestWithParam<RuntimeUnderTest> {
 protected:
  void SetUp() override {
    try {
      GetParam().runtime();
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

// Memory of a backend with a host vector's values.
class DeviceValues {
 public:
  DeviceValues(Backend& backend, const Floats& values)
      : backend_(backend),
        size_(static_cast<std::int64_t>(values.size())),
        data_(backend.allocate(size_)) {
    backend.upload(values, data_);
  }
  ~DeviceValues() { backend_.deallocate(data_, size_); }
  DeviceValues(const DeviceValues&) = delete;
  DeviceValues& operator=(const DeviceValues&) = delete;
  Elements elements() const { return {data_, size_}; }
  std::byte* data() const { return data_; }
  Floats to_host() const {
    Floats values(static_cast<std::size_t>(size_));
    backend_.download(data_, values);
    return values;
  }

 private:
  Backend& backend_;
  std::int64_t size_;
  std::byte* data_;
};

class HostWork {
 public:
  HostWork(Backend& backend, Floats& host) : memory_(backend, host), host_(host) {}
  void start(Communicator& comm, const std::string& what) {
    work_ = comm.start_all_reduce(memory_.elements(), what);
  }
  void wait() {
    work_->wait();
    host_ = memory_.to_host();
  }

 private:
  DeviceValues memory_;
  Floats& host_;
  std::unique_ptr<Work> work_;  // goes before the memory that it works on
};

class HostCommunicator {
 public:
  HostCommunicator(std::unique_ptr<Communicator> comm, Backend& backend)
      : comm_(std::move(comm)), backend_(backend) {}
  int rank() const { return comm_->rank(); }
  int size() const { return comm_->size(); }
  DType dtype() const { return backend_.dtype(); }
  const CommCounters& counters() const { return comm_->counters(); }

  std::unique_ptr<HostWork> start_all_reduce(Floats& buffer, const std::string& what) {
    auto work = std::make_unique<HostWork>(backend_, buffer);
    work->start(*comm_, what);
    return work;
  }
  void all_reduce(Floats& buffer, const std::string& what) {
    start_all_reduce(buffer, what)->wait();
  }
  void all_gather(const Floats& mine, Floats& gathered, const std::string& what) {
    const DeviceValues in(backend_, mine), out(backend_, gathered);
    comm_->all_gather(in.elements(), out.elements(), what);
    gathered = out.to_host();
  }
  void send(const Floats& buffer, int to, const std::string& what) {
    comm_->send(DeviceValues(backend_, buffer).elements(), to, what);
  }
  void send_none(int to, const std::string& what) { comm_->send_none(to, what); }
  bool receive(Floats& buffer, int from, const std::string& what) {
    const DeviceValues memory(backend_, buffer);
    const bool got = comm_->receive(memory.elements(), from, what);
    buffer = memory.to_host();
    return got;
  }

 private:
  std::unique_ptr<Communicator> comm_;
  Backend& backend_;
};

// One rank's side of a job.
struct TestRank {
  int rank;
  World& world;
  Backend& backend;
  std::unique_ptr<HostCommunicator> group(int group_id, std::vector<int> members) {
    return std::make_unique<HostCommunicator>(
        world.group(group_id, std::move(members), rank, backend), backend);
  }
};

inline std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

struct RankEnd {
  std::string kind, message;  // of a SubjectError; empty if the rank finished
};

// Ends the test as skipped where the runtime can't have so many ranks.
inline std::unique_ptr<World> make_world_or_skip(Runtime& runtime, int size) {
  try {
    return runtime.make_world(size);
  } catch (const UnavailableError& error) {
    [&] { GTEST_SKIP() << error.what(); }();
    throw ::testing::AssertionException(::testing::TestPartResult(
        ::testing::TestPartResult::kSkip, __FILE__, __LINE__, error.what()));
  }
}

// Runs body(rank) on `size` threads. A SubjectError ends a rank as failed and is returned; anything
// else that a rank throws fails the test. Use EXPECT in the body: ASSERT leaves only the lambda.
inline std::vector<RankEnd> run_ranks(const RuntimeUnderTest& under_test, int size,
                                      const std::function<void(TestRank&)>& body) {
  Runtime& runtime = under_test.runtime();
  const std::unique_ptr<World> world = make_world_or_skip(runtime, size);
  std::vector<RankEnd> ends(static_cast<std::size_t>(size));
  std::vector<std::string> broken(ends.size());
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        try {
          const std::unique_ptr<Backend> backend = runtime.make_backend(rank, under_test.dtype);
          TestRank mine{rank, *world, *backend};
          body(mine);
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
