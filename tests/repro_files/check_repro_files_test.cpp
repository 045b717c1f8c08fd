// The verification itself, on stand-ins for a Python and a compiler that are shell scripts.
#include "repro_files/check_repro_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace culprit {
namespace {

namespace fs = std::filesystem;
using Status = ReproCheck::Status;

class CheckReproFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.cache = folder_ / "cache";
    // Answers the question for the release, and runs scripts as a shell does, counting them.
    options_.python =
        program("python", "case $1 in -c) echo 3.3.1 3.11.2 ;; *) echo x >>" +
                              (folder_ / "runs").string() + "; exec sh \"$1\" ;; esac");
    options_.compiler =
        program("compiler", "[ \"$1\" = --version ] && { echo compiler 1; exit; }\nexit 1");
    options_.deadline = std::chrono::seconds(60);
  }
  std::string program(const std::string& name, const std::string& lines) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    ::chmod(path.c_str(), 0755);
    return path.string();
  }
  static ReproFile script(const std::string& text) {
    return {.name = "repro.py",
            .text = text,
            .exit_status = 11,
            .shows = "WRONG_GRAD",
            .framework_version = "3.3.1"};
  }
  ReproCheck check(const ReproFile& file) { return check_repro_files({file}, options_)[0]; }
  std::size_t runs() const {
    std::ifstream in(folder_ / "runs");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }

  fs::path folder_;
  ReproCheckOptions options_;
};

TEST_F(CheckReproFilesTest, StatusAndLineMustBothBeThere) {
  EXPECT_EQ(check(script("echo WRONG_GRAD on rank 0; exit 11")).status, Status::kShown);
  EXPECT_EQ(check(script("echo WRONG_GRAD on rank 0; exit 0")).status, Status::kNotShown);
  EXPECT_EQ(check(script("echo nothing; exit 11")).status, Status::kNotShown);
  const ReproCheck other = check(script("echo why >&2; exit 3"));
  EXPECT_NE(other.words.find("exit status 3"), std::string::npos) << other.words;
  EXPECT_NE(other.output_tail.find("why"), std::string::npos);
}
TEST_F(CheckReproFilesTest, TheSameTextRunsOnce) {
  const ReproFile file = script("echo WRONG_GRAD; exit 11");
  const ReproCheck first = check(file), second = check(file);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.words, first.words);
  EXPECT_EQ(runs(), 1U);
  check(script("echo WRONG_GRAD; exit 11 # another text"));
  EXPECT_EQ(runs(), 2U);
}
TEST_F(CheckReproFilesTest, FilesOfSeveralCellsDoNotMeet) {
  const auto checks = check_repro_files(
      {script("echo WRONG_GRAD one; exit 11"), script("echo WRONG_GRAD two; exit 11")}, options_);
  EXPECT_EQ(checks[0].words, "exit status 11, WRONG_GRAD one");
  EXPECT_EQ(checks[1].words, "exit status 11, WRONG_GRAD two");
}
TEST_F(CheckReproFilesTest, AnotherReleaseRunsAgain) {
  const ReproFile file = script("echo WRONG_GRAD; exit 11");
  check(file);
  options_.python =
      program("python", "case $1 in -c) echo 3.3.1 3.12.0 ;; *) exec sh \"$1\" ;; esac");
  EXPECT_FALSE(check(file).from_cache);
}
TEST_F(CheckReproFilesTest, ADamagedCacheCountsAsNone) {
  const ReproFile file = script("echo WRONG_GRAD; exit 11");
  check(file);
  for (const auto& entry : fs::directory_iterator(options_.cache))
    std::ofstream(entry.path()) << "{\"key\":";
  const ReproCheck again = check(file);
  EXPECT_FALSE(again.from_cache);
  EXPECT_EQ(again.status, Status::kShown);
}
TEST_F(CheckReproFilesTest, NoCacheIsNoTrouble) {
  options_.cache.clear();
  EXPECT_EQ(check(script("echo WRONG_GRAD; exit 11")).status, Status::kShown);
  options_.cache = "/proc/no/such/folder";
  EXPECT_EQ(check(script("echo WRONG_GRAD; exit 11")).status, Status::kShown);
}
TEST_F(CheckReproFilesTest, NothingIsLeftInTheCacheButResults) {
  check(script("echo WRONG_GRAD; exit 11"));
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(options_.cache)) {
    EXPECT_EQ(entry.path().extension(), ".json");
    ++entries;
  }
  EXPECT_EQ(entries, 1U);
}
TEST_F(CheckReproFilesTest, AHangEndsAtTheDeadlineAndIsNotKept) {
  options_.deadline = std::chrono::milliseconds(500);
  const ReproFile file = script("sleep 60");
  const ReproCheck first = check(file);
  EXPECT_EQ(first.status, Status::kNotRun);
  EXPECT_NE(first.words.find("deadline"), std::string::npos) << first.words;
  EXPECT_FALSE(check(file).from_cache);
}
TEST_F(CheckReproFilesTest, WithoutPaddleItSaysWhatToInstall) {
  options_.python = "/nonexistent/python";
  const ReproCheck none = check(script("exit 11"));
  EXPECT_EQ(none.status, Status::kNotRun);
  EXPECT_EQ(none.words, "no Python with PaddlePaddle; pip install paddlepaddle==3.3.1");
  options_.python = program("python", "echo 2.6.2 3.11.2");
  const ReproCheck old = check(script("exit 11"));
  EXPECT_EQ(old.status, Status::kNotRun);
  EXPECT_NE(old.words.find("2.6.2"), std::string::npos) << old.words;
}
TEST_F(CheckReproFilesTest, AFailedBuildSaysNothingOfTheOutcomeAndIsTriedAgain) {
  const ReproFile file{.name = "repro.cpp", .text = "int", .exit_status = 10, .shows = "ERROR"};
  options_.compiler = program("compiler",
                              "[ \"$1\" = --version ] && { echo compiler 1; exit; }\n"
                              "echo In file; echo disk error: full >&2; exit 1");
  const ReproCheck failed = check(file);
  EXPECT_EQ(failed.status, Status::kNotRun);
  EXPECT_EQ(failed.words, "does not build: exit status 1: disk error: full");
  // The same compiler, healed.
  program("compiler",
          "[ \"$1\" = --version ] && { echo compiler 1; exit; }\n"
          "for last; do :; done; printf '#!/bin/sh\\necho ERROR so; exit 10\\n' >$last; chmod +x $last");
  EXPECT_EQ(check(file).status, Status::kShown);
}
TEST_F(CheckReproFilesTest, AToolMayBeSeveralWordsOrARelativePath) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  options_.python = "./python";
  EXPECT_EQ(check(script("echo WRONG_GRAD; exit 11")).status, Status::kShown);
  options_.python = "/usr/bin/env " + (folder_ / "python").string();
  EXPECT_EQ(check(script("echo WRONG_GRAD; exit 11")).status, Status::kShown);
  fs::current_path(before);
}
TEST_F(CheckReproFilesTest, WhatAKilledProcessLeftIsTakenAwayAfterADay) {
  const fs::path old = options_.cache / "build-abc", young = options_.cache / "build-def";
  for (const fs::path& folder : {old, young}) fs::create_directories(folder / "0");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
  check(script("echo WRONG_GRAD; exit 11"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}
TEST_F(CheckReproFilesTest, ATestWithoutGoogleTestIsNotRun) {
  options_.compiler = program(
      "compiler", "echo 'fatal error: gtest/gtest.h: No such file or directory' >&2; exit 1");
  const ReproCheck check_of_test = check({.name = "repro_test.cpp",
                                          .text = "today",
                                          .shows = "[  PASSED  ]",
                                          .rule_line = "today",
                                          .fixed_line = "fixed"});
  EXPECT_EQ(check_of_test.status, Status::kNotRun);
  EXPECT_NE(check_of_test.words.find("GoogleTest"), std::string::npos) << check_of_test.words;
}
TEST_F(CheckReproFilesTest, ATestThatStaysGreenWithTheFixIsNotShown) {
  // A compiler whose programs pass whatever they are built from.
  options_.compiler = program(
      "compiler",
      "[ \"$1\" = --version ] && exit\n"
      "for last; do :; done; printf '#!/bin/sh\\necho \"[  PASSED  ]\"\\n' >$last; chmod +x $last");
  const ReproCheck green = check({.name = "repro_test.cpp",
                                  .text = "today",
                                  .shows = "[  PASSED  ]",
                                  .rule_line = "today",
                                  .fixed_line = "fixed"});
  EXPECT_EQ(green.status, Status::kNotShown);
  EXPECT_NE(green.words.find("not red"), std::string::npos) << green.words;
}
TEST_F(CheckReproFilesTest, ARefusalIsPassedOn) {
  const auto checks =
      check_repro_files({ReproRefusal{"repro.py", "HANG is not written yet"}}, options_);
  EXPECT_EQ(checks[0].status, Status::kRefused);
  EXPECT_EQ(checks[0].words, "HANG is not written yet");
}

}  // namespace
}  // namespace culprit
