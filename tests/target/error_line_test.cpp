#include "target/error_line.hpp"

#include "target_test_support.hpp"

namespace culprit {
namespace {

TEST(ErrorLineTest, FindsTheRaisedException) {
  EXPECT_EQ(
      find_error_line(
          "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: bad\n",
          ""),
      "ValueError: bad");
  EXPECT_EQ(find_error_line("x\ntorch.cuda.OutOfMemoryError: no\n\nAssertionError\n", ""),
            "torch.cuda.OutOfMemoryError: no");
  EXPECT_EQ(find_error_line("loading\n", "step 1\nAssertionError\n"), "AssertionError");
  EXPECT_EQ(find_error_line("All is well: yes\nIt is an Error: no\n", ""),
            "It is an Error: no");  // by its words only
  EXPECT_EQ(find_error_line("train: FATAL: no device\n", ""), "train: FATAL: no device");
  EXPECT_EQ(find_error_line("UserWarning: error ahead\nTraceback: error\nall fine\n", "error"), "");
}

TEST(ErrorLineTest, DropsRankPrefixesAndColours) {
  for (const char* prefix :
       {"[rank0]: ", "[rank13]:", "0: ", "[1,0]<stderr>:", "\x1b[31m", "[default2]:  "})
    EXPECT_EQ(find_error_line(std::string("noise\n") + prefix + "RuntimeError: x\x1b[0m \r\n", ""),
              "RuntimeError: x")
        << prefix;
}

TEST(MaskVolatileTest, TakesOutWhatDiffersFromRunToRun) {
  EXPECT_EQ(mask_volatile("at 0x7ffd12ab34 pid 4711, 12:34:56.789"), "at # pid #, #:#:#");
  EXPECT_EQ(mask_volatile("loss -1.5e-3 differs by 2.25 and 1e9"), "loss # differs by # and #");
  EXPECT_EQ(mask_volatile("open /tmp/tmpab12/x.json: no"), "open <tmp>: no");
  EXPECT_EQ(mask_volatile("File \"/home/u/proj/train.py\", line 33"), "File \"train.py\", line #");
  EXPECT_EQ(mask_volatile("run 1a2b3c4d-99aa-0001 and deadbeef01"), "run # and #");
  EXPECT_EQ(mask_volatile("shape [2, 3] (-4)"), "shape [#, #] (#)");
}

TEST(MaskVolatileTest, KeepsWhatTellsFailuresApart) {
  EXPECT_EQ(mask_volatile("expected float32, got float16 on rank0 layer12"),
            "expected float32, got float16 on rank0 layer12");
  EXPECT_EQ(mask_volatile("CUDA error 700, error code: -11, exit status=3"),
            "CUDA error 700, error code: -11, exit status=3");
  EXPECT_EQ(mask_volatile("facade/added and a/b"),
            "facade/added and a/b");  // words of hexadecimal letters, ratios
  EXPECT_EQ(mask_volatile("pre-3 x"), "pre-# x");
}

TEST(MaskVolatileTest, IsBoundedAndPrintable) {
  EXPECT_EQ(mask_volatile("a\x1b[2J\xff"), "a\\x1B[#J\\xFF");
  EXPECT_EQ(mask_volatile(std::string(100'000, 'g')).size(), 160u);
  EXPECT_EQ(mask_volatile(""), "");
  for (const char* odd : {"/", "//", "-", "0x", "1.", "1e", "1e-", ".5", "/tmp/"})
    mask_volatile(odd);
}

}  // namespace
}  // namespace culprit
