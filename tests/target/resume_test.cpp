// A driver that is killed in the middle, again and again, must end up having run each trial once.
#include <sys/wait.h>

#include <algorithm>
#include <map>

#include "target/journal.hpp"
#include "target_test_support.hpp"

namespace culprit {
namespace {

pid_t start_driver(const std::string& folder) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(CULPRIT_TEST_DRIVER, CULPRIT_TEST_DRIVER, folder.c_str(), nullptr);
    ::_exit(127);
  }
  return pid;
}

TEST(ResumeTest, KilledDriverRepeatsNoFinishedTrial) {
  TemporaryFolder folder;
  std::size_t kills = 0;
  std::size_t before = 0;
  for (int delay_ms : {70, 110, 90, 130, 100, 150}) {
    const pid_t driver = start_driver(folder.string());
    std::this_thread::sleep_for(milliseconds(delay_ms));
    ::kill(driver, SIGKILL);
    int status = 0;
    ::waitpid(driver, &status, 0);
    if (WIFSIGNALED(status)) ++kills;
    if (!std::filesystem::exists(folder / "journal")) continue;
    const std::size_t finished = read_journal(folder / "journal").records.size();
    EXPECT_GE(finished, before);  // nothing that was finished is lost
    before = finished;
  }
  EXPECT_GE(kills, 3u);
  const pid_t driver = start_driver(folder.string());
  int status = 0;
  ::waitpid(driver, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);

  const JournalContent content = read_journal(folder / "journal");
  std::map<Assignment, int> runs;
  for (const TrialRecord& record : content.records) {
    EXPECT_EQ(record.trial.status, Trial::Status::kPass);
    ++runs[record.assignment];
  }
  EXPECT_EQ(runs.size(), 64u);
  for (const auto& [assignment, count] : runs) EXPECT_EQ(count, 2);
  // A killed driver had at most two trials under way, which wrote their line or did not.
  const std::string log = read_text(folder / "log");
  const auto lines = static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));
  EXPECT_GE(lines, 128u);
  EXPECT_LE(lines, 128 + 2 * kills);
  EXPECT_LE(content.unfinished.size(), 2 * kills);
}

}  // namespace
}  // namespace culprit
