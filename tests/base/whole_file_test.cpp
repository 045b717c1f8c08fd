// Files that are there whole or not at all.
#include "base/whole_file.hpp"

#include <sys/stat.h>

#include <iterator>

#include "gtest/gtest.h"

namespace culprit {
namespace {

namespace fs = std::filesystem;

class WholeFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(WholeFileTest, ReplacesAFileOnlyWhenCommitted) {
  const fs::path path = folder_ / "report";
  write_whole_file(path, "old");
  {
    WholeFile abandoned(path);
    abandoned.out() << "half";
  }
  EXPECT_EQ(text_of(path), "old");
  write_whole_file(path, "new");
  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(num_files(), 1U);
}
TEST_F(WholeFileTest, FolderOrMissingParentIsAnErrorAtOnce) {
  EXPECT_THROW(WholeFile file(folder_), SetupError);
  EXPECT_THROW(WholeFile file(folder_ / "none" / "report"), SetupError);
  EXPECT_EQ(num_files(), 0U);
}
TEST_F(WholeFileTest, LinkStaysALink) {
  write_whole_file(folder_ / "target", "old");
  fs::create_symlink("target", folder_ / "link");
  write_whole_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(text_of(folder_ / "target"), "new");
}
TEST_F(WholeFileTest, DeviceStaysADevice) {
  // Through a link in a folder of our own, so that a fault can't replace the machine's device.
  fs::create_symlink("/dev/null", folder_ / "null");
  write_whole_file(folder_ / "null", "gone");
  EXPECT_TRUE(fs::is_symlink(folder_ / "null"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(num_files(), 1U);
}
// What can't be written says why: a full disk and a missing folder are mended in different ways.
TEST_F(WholeFileTest, TheErrorHasTheReason) {
  const auto error_of = [](const fs::path& path) -> std::string {
    try {
      write_whole_file(path, "text");
    } catch (const SetupError& error) {
      return error.what();
    }
    return "written";
  };
  fs::create_symlink("/dev/full", folder_ / "full");
  EXPECT_EQ(error_of(folder_ / "full"), "/dev/full: can't be written: No space left on device");
  const fs::path lost = folder_ / "none" / "report";
  EXPECT_EQ(error_of(lost), lost.string() + ": can't be written: No such file or directory");
}

}  // namespace
}  // namespace culprit
