// The main of test programs whose ranks are processes: every process runs the same tests in the
// same order, rank 0 reports, all end with the same status, once all are done.
#include "gtest/gtest.h"
#include "support/job_runtime.hpp"

namespace {

// Keeps gtest's own report off the other processes, but not what fails there.
class FailuresAlone final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed())
      std::printf("rank %d: %s:%d: %s\n", culprit::test::job_runtime().processes()->rank(),
                  result.file_name() ? result.file_name() : "?", result.line_number(),
                  result.message());
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  try {
    culprit::ProcessGroup& processes = *culprit::test::job_runtime().processes();
    if (processes.rank() != 0) {
      auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new FailuresAlone);
    }
    std::string status(1, static_cast<char>(RUN_ALL_TESTS()));
    std::fflush(stdout);
    std::string worst(1, '\0');
    for (const std::string& each : processes.gather(status)) worst = std::max(worst, each);
    return processes.broadcast(worst)[0];
  } catch (const culprit::Error& error) {
    std::printf("SKIPPED or failed: %s\n", error.what());
    return error.exit_status();
  }
}
