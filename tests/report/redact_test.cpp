// What must not leave the machine, and what must stay readable.
#include "report/redact.hpp"

#include "gtest/gtest.h"
#include "report/made_up_record.hpp"

namespace culprit {
namespace {

Redactor somebody() {
  return Redactor({.home = "/home/ada", .user = "ada", .host = "lovelace-7.example.org"});
}
std::string masked(const std::string& text) { return somebody().text(text); }

TEST(RedactTest, HomeFoldersUsersAndHosts) {
  EXPECT_EQ(masked("/home/ada/run/launch.sh"), "~/run/launch.sh");
  EXPECT_EQ(masked("/home/grace/x and /Users/alan.t/y"), "/home/<user>/x and /Users/<user>/y");
  EXPECT_EQ(masked("ada@lovelace-7.example.org"), "<user>@<host>");
  EXPECT_EQ(masked("on lovelace-7.example.org as ada: /data/ada/ckpt"),
            "on <host> as <user>: /data/<user>/ckpt");
  EXPECT_EQ(masked("adamw of canada"), "adamw of canada");
}
TEST(RedactTest, NamesThatSayNothingStay) {
  Redactor redactor({.home = "/root", .user = "root", .host = "localhost"});
  EXPECT_EQ(redactor.text("root of localhost, /root/x"), "root of localhost, ~/x");
}
TEST(RedactTest, Addresses) {
  EXPECT_EQ(masked("tcp://10.1.2.3:29500"), "tcp://<address>:29500");
  EXPECT_EQ(masked("[fe80::1ff:fe23:4567:890a]:80"), "[<address>]:80");
  EXPECT_EQ(masked("2001:db8:0:0:8:800:200c:417a,"), "<address>,");
  EXPECT_EQ(masked("02:42:ac:11:00:02"), "<mac>");
  EXPECT_EQ(masked("at 127.0.0.1, 0.0.0.0"), "at 127.0.0.1, 0.0.0.0");
}
TEST(RedactTest, CredentialsUuidsAndMail) {
  EXPECT_EQ(masked("ghp_0123456789abcdefABCDEF0123456789abcd"), "<secret>");
  EXPECT_EQ(masked("key hf_abcdefghijklmnopqrstuvwx."), "key <secret>");
  EXPECT_EQ(masked("d41d8cd98f00b204e9800998ecf8427e"), "<secret>");
  EXPECT_EQ(masked("WANDB_API_KEY=abc --hub-token xyz1"),
            "WANDB_API_KEY=<secret> --hub-token <secret>");
  EXPECT_EQ(masked("--password 'hunter5' --token \"hunter A B\" x"),
            "--password <secret> --token <secret> x");
  EXPECT_EQ(masked("env WANDB_API_KEY=\"hunter4\" PGPASSWORD=hunter2 sh"),
            "env WANDB_API_KEY=<secret> PGPASSWORD=<secret> sh");
  EXPECT_EQ(masked("--mysql_pwd X --auth \"Bearer X\""), "--mysql_pwd <secret> --auth <secret>");
  EXPECT_EQ(masked("sh -c 'run --token \"a b\" --tp 2'"), "sh -c 'run --token <secret> --tp 2'");
  EXPECT_EQ(masked("--token 'never closed"), "--token <secret>");
  EXPECT_EQ(masked("https://me:pw@git.example.org/x"), "https://<secret>@git.example.org/x");
  EXPECT_EQ(masked("123e4567-e89b-12d3-a456-426614174000"), "<uuid>");
  EXPECT_EQ(masked("to grace.hopper@navy.mil"), "to <email>");
}
TEST(RedactTest, WordsOfReportsStay) {
  for (const std::string text :
       {"embed@stage0.tp0", "row1@1.0", "paddle@3.3.1", "std::string",
        "culprit 0.1 (commit 2b15e375bfdd-dirty)", "--tokens=3 --tensor-parallel-degree 4",
        "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH", "12:34:56",
        "Leaf Var (generated_tensor_0) that doesn't stop gradient can't use inplace strategy"})
    EXPECT_EQ(masked(text), text);
}
TEST(RedactTest, MaskedTextStaysAsItIs) {
  const std::string once =
      masked("/home/ada/x on 10.0.0.9 with ghp_0123456789abcdefABCDEF0123456789abcd /home/bob");
  EXPECT_EQ(masked(once), once);
}
TEST(RedactTest, SaysWhatWasMasked) {
  Redactor redactor = somebody();
  redactor.text("/home/ada/a /home/ada/b 10.0.0.9");
  EXPECT_EQ(redactor.summary(), "2 home folders, 1 network address");
  EXPECT_EQ(somebody().summary(), "");
}
TEST(RedactTest, OffKeepsAll) {
  Redactor off = Redactor::off();
  EXPECT_EQ(off.text("/home/ada 10.0.0.9"), "/home/ada 10.0.0.9");
  EXPECT_EQ(off.summary(), "");
}
TEST(RedactTest, EveryTextOfARecordIsMasked) {
  RunRecord record = test::made_up_record();
  const std::string secret = "/home/ada/x";
  record.command = {secret, "--from", secret, "--api-token", "word"};
  record.environment = {{"CPU", secret}};
  record.bin_folder = secret;
  record.launch = {.file = secret,
                   .dialect = "",
                   .modelled = {secret},
                   .not_modelled = {secret},
                   .unknown = {secret}};
  JobResult& job = record.jobs[0];
  MinimalFinding& finding = job.minimal[0];
  for (Outcome* outcome : {&job.outcomes[0], &finding.one_micro_batch, &finding.two_linears,
                           &finding.smallest.outcome, &finding.fixes[1][2].outcome})
    outcome->message = secret;
  finding.trace.ranks.push_back(
      {.stage = 0, .tp_rank = 0, .events = {}, .error_kind = "X", .error_message = secret});
  Redactor redactor = somebody();
  const RunRecord clean = redacted(record, redactor);
  const MinimalFinding& shown = clean.jobs[0].minimal[0];
  EXPECT_EQ(clean.command,
            (std::vector<std::string>{"~/x", "--from", "~/x", "--api-token", "<secret>"}));
  for (const std::string& text :
       {clean.environment[0].second, clean.bin_folder, clean.launch.file, clean.launch.modelled[0],
        clean.launch.not_modelled[0], clean.launch.unknown[0], clean.jobs[0].outcomes[0].message,
        shown.one_micro_batch.message, shown.two_linears.message, shown.smallest.outcome.message,
        shown.fixes[1][2].outcome.message, shown.trace.ranks[0].error_message})
    EXPECT_EQ(text, "~/x");
}

}  // namespace
}  // namespace culprit
