// Support: a job of ranks on any runtime (threads, or this process one of them), what each rank raised, and its communicator with
// host vectors in place of a backend's memory.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
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
    const DeviceValues memory(backend_, buffer);
    comm_->all_reduce(memory.elements(), what);
    buffer = memory.to_host();
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

[[noreturn]] inline void skip(const std::string& why) {
  [&] { GTEST_SKIP() << why; }();
  throw ::testing::AssertionException(::testing::TestPartResult(
      ::testing::TestPartResult::kSkip, __FILE__, __LINE__, why.c_str()));
}

// Ends the test as skipped where the runtime can't have so many ranks.
inline std::unique_ptr<World> make_world_or_skip(Runtime& runtime, int size) {
  if (runtime.processes() && size > runtime.processes()->size())
    skip("needs " + std::to_string(size) + " processes");
  try {
    return runtime.make_world(size);
  } catch (const UnavailableError& error) {
    skip(error.what());
  }
}

// What one rank of a job came to; `broken`: it threw what is no subject's error.
struct RankEndOrBroken {
  RankEnd end;
  std::string broken;
};
inline RankEndOrBroken run_rank(Runtime& runtime, DType dtype, World& world, int rank,
                                const std::function<void(TestRank&)>& body) {
  RankEndOrBroken came_to;
  try {
    const std::unique_ptr<Backend> backend = runtime.make_backend(rank, dtype);
    TestRank mine{rank, world, *backend};
    body(mine);
    world.finished(rank);
  } catch (const SubjectError& error) {
    came_to.end = {error.kind(), error.what()};
    world.failed(rank);
  } catch (const std::exception& error) {
    came_to.broken = error.what();
    world.failed(rank);
  }
  return came_to;
}

// Runs this process's rank of a job, and tells every process what all came to.
inline std::vector<RankEndOrBroken> run_as_process(Runtime& runtime, DType dtype, World& world,
                                                   int size,
                                                   const std::function<void(TestRank&)>& body) {
  ProcessGroup& processes = *runtime.processes();
  ByteWriter mine;
  if (processes.rank() < size) {
    const RankEndOrBroken came_to = run_rank(runtime, dtype, world, processes.rank(), body);
    mine.put_text(came_to.end.kind);
    mine.put_text(came_to.end.message);
    mine.put_text(came_to.broken);
  }
  std::string all;
  for (const std::string& bytes : processes.gather(mine.take())) all += bytes;
  all = processes.broadcast(all);
  std::vector<RankEndOrBroken> ends;
  for (ByteReader reader(all); !reader.at_end();) {
    RankEndOrBroken came_to;
    came_to.end.kind = reader.get_text();
    came_to.end.message = reader.get_text();
    came_to.broken = reader.get_text();
    ends.push_back(std::move(came_to));
  }
  return ends;
}

// Runs body(rank) on `size` ranks. A SubjectError ends a rank as failed and is returned; anything
// else that a rank throws fails the test. Use EXPECT in the body: ASSERT leaves only the lambda.
// Among processes what a body writes outside itself is seen on its own process alone.
inline std::vector<RankEnd> run_ranks(const RuntimeUnderTest& under_test, int size,
                                      const std::function<void(TestRank&)>& body) {
  Runtime& runtime = under_test.runtime();
  const std::unique_ptr<World> world = make_world_or_skip(runtime, size);
  std::vector<RankEndOrBroken> came_to(static_cast<std::size_t>(size));
  if (runtime.processes()) {
    came_to = run_as_process(runtime, under_test.dtype, *world, size, body);
  } else {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        came_to[rank] = run_rank(runtime, under_test.dtype, *world, rank, body);
      });
  }
  std::vector<RankEnd> ends;
  for (const RankEndOrBroken& each : came_to) {
    EXPECT_EQ(each.broken, "") << "rank " << ends.size() << " threw what is no subject's error";
    ends.push_back(each.end);
  }
  return ends;
}

}  // namespace culprit::test
