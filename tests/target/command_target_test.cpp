#include "target/command_target.hpp"

#include "target/bisect_status.hpp"
#include "target_test_support.hpp"

namespace culprit {
namespace {

using Words = std::vector<std::string>;

CommandSpec spec(const std::string& command,
                 Words toggles = {"skip=--skip|", "rec=--recompute 1|--recompute 0"}) {
  CommandSpec result;
  result.command = command;
  result.toggles = std::move(toggles);
  return result;
}

TEST(CommandTargetTest, InsertsTogglesInOrder) {
  const CommandTarget target(spec("echo train.py {toggles} end"));
  EXPECT_EQ(target.request({0, 0}, "").argv,
            (Words{"echo", "train.py", "--skip", "--recompute", "1", "end"}));
  EXPECT_EQ(target.request(target.reference(), "").argv,
            (Words{"echo", "train.py", "--recompute", "0", "end"}));
  EXPECT_EQ(target.reported(), (Assignment{0, 0}));
  EXPECT_EQ(target.reference(), (Assignment{1, 1}));
}

TEST(CommandTargetTest, NamedPlaceholdersTakeTheirTogglesOut) {
  const CommandTarget target(
      spec("echo --acc={acc} {toggles} '{skip}' {skip}", {"skip=-s 'a b'|", "acc=1|2|", "r=-r|"}));
  EXPECT_EQ(target.request({0, 1, 0}, "").argv,
            (Words{"echo", "--acc=2", "-r", "-s 'a b'", "-s", "a b"}));
  EXPECT_EQ(target.request({1, 2, 1}, "").argv,
            (Words{"echo", "--acc=", ""}));  // quoted stays a word, unquoted goes
}

TEST(CommandTargetTest, OtherBracesStandForThemselves) {
  const CommandTarget target(spec("echo {} '{\"a\": 1}' {{toggles}} {1} {toggles}"));
  EXPECT_EQ(target.request({1, 1}, "").argv,
            (Words{"echo", "{}", "{\"a\": 1}", "{toggles}", "{1}", "--recompute", "0"}));
}

TEST(CommandTargetTest, LauncherWrapsTheCommand) {
  CommandSpec with = spec("python train.py {toggles} 'a b'");
  with.launcher = "env NP={np} {cmd}";
  with.np = 4;
  const CommandTarget target(with);
  EXPECT_EQ(target.request({0, 1}, "").argv,
            (Words{"env", "NP=4", "python", "train.py", "--skip", "--recompute", "0", "a b"}));
  with.launcher = "sh -c 'echo {np}; {cmd}'";
  EXPECT_EQ(CommandTarget(with).request({1, 1}, "").argv,
            (Words{"sh", "-c", "echo 4; python train.py --recompute 0 'a b'"}));
}

TEST(CommandTargetTest, EnvironmentTogglesSetAndUnset) {
  CommandSpec with = spec("echo", {});
  with.environment_toggles = {"CUDA_LAUNCH_BLOCKING=1|", "NCCL_ALGO=Ring|Tree x"};
  const CommandTarget target(with);
  const auto environment = target.request({1, 1}, "").environment;
  ASSERT_EQ(environment.size(), 2u);
  EXPECT_EQ(environment[0].second, std::nullopt);
  EXPECT_EQ(environment[1].second, "Tree x");
  EXPECT_EQ(target.shell_line({1, 1}), "env -u CUDA_LAUNCH_BLOCKING 'NCCL_ALGO=Tree x' echo");
  EXPECT_EQ(target.shell_line({0, 0}), "env CUDA_LAUNCH_BLOCKING=1 NCCL_ALGO=Ring echo");
}

TEST(CommandTargetTest, DumpPlaceholderTakesItsSuffix) {
  const CommandTarget target(spec("echo {toggles} --out {dump.npy}"));
  EXPECT_TRUE(target.has_dump());
  EXPECT_EQ(target.dump_suffix(), ".npy");
  EXPECT_EQ(target.request({1, 1}, "/x/y.npy").argv.back(), "/x/y.npy");
  EXPECT_FALSE(CommandTarget(spec("echo {toggles}")).has_dump());
}

TEST(CommandTargetTest, RefusesTemplatesThatCannotWork) {
  EXPECT_USAGE_ERROR(CommandTarget(spec("")), "the command is empty");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {skip}")), "--toggle 'rec' appears in no template");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {toggels}", {"a=1|"})), "appears in no template");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {toggles} {skp}")),
                     "unknown placeholder {skp}; did you mean 'skip'? (write {{skp}}");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {toggles} > log")), "to a shell only");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {toggles}", {"a='x|"})), "without its end");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {toggles} {cmd}")), "{cmd} belongs in --launcher");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {toggles} {np}")), "{np} has no value");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo {toggles} {dump} {dump.npy}")), "one dump file");
  EXPECT_USAGE_ERROR(CommandTarget(spec("{toggles}", {"a=echo|"})), "nothing is left");
  EXPECT_USAGE_ERROR(CommandTarget(spec("echo", {})), "no toggle");
}

template <typename Change>
std::string error_with(Change change) {
  CommandSpec with = spec("echo {toggles}");
  change(with);
  return usage_error([&] { CommandTarget target(with); });
}

TEST(CommandTargetTest, RefusesFlagsThatDoNotGoTogether) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? "" : text;
  };
  EXPECT_EQ(has(error_with([](auto& s) { s.launcher = "mpirun -np 2"; }), "has no {cmd}"), "");
  EXPECT_EQ(has(error_with([](auto& s) { s.np = 2; }), "no template has {np}"), "");
  EXPECT_EQ(has(error_with([](auto& s) { s.command += " {np}", s.np = 0; }), "expected at least 1"),
            "");
  EXPECT_EQ(
      has(error_with([](auto& s) { s.command += " {dump}", s.dump_path = "x"; }), "one of the two"),
      "");
  EXPECT_EQ(has(error_with([](auto& s) {
                  s.fail_patterns = {"A=x", "A=y"};
                }),
                "two are named 'A'"),
            "");
  EXPECT_EQ(has(error_with([](auto& s) { s.fail_patterns = {"A=("}; }), "--fail-regex 'A=(': "),
            "");
  EXPECT_EQ(has(error_with([](auto& s) { s.fail_patterns = {"no name"}; }), "expected NAME=RE"),
            "");
  EXPECT_EQ(has(error_with([](auto& s) { s.tolerance.rtol = -1; }), "--rtol"), "");
  EXPECT_EQ(has(error_with([](auto& s) { s.environment_toggles = {"skip=1|"}; }),
                "two toggles are named 'skip'"),
            "");
  EXPECT_EQ(has(error_with([](auto& s) { s.excludes_rules = {"skip=--skip,rec=--recompute 1"}; }),
                "reporter's own run"),
            "");
}

TEST(CommandTargetTest, RefusesProgramsThatCannotStart) {
  EXPECT_USAGE_ERROR(CommandTarget(spec("no-such-program {toggles}")),
                     "cannot start 'no-such-program': No such file");
  EXPECT_USAGE_ERROR(CommandTarget(spec("/etc/passwd {toggles}")),
                     "cannot start '/etc/passwd': Permission denied");
  EXPECT_USAGE_ERROR(CommandTarget(spec("A=1 python {toggles}")), "write env A=1 COMMAND");
  CommandSpec with = spec("python-on-the-cluster {toggles}");
  with.launcher = "no-such-launcher {cmd}";
  EXPECT_USAGE_ERROR(CommandTarget{with}, "cannot start 'no-such-launcher'");
  with.launcher = "echo {cmd}";  // what it starts elsewhere can't be checked here
  EXPECT_EQ(usage_error([&] { CommandTarget target(with); }), "(none)");
}

TEST(CommandTargetTest, DescriptionHoldsWhatDecidesTrials) {
  const std::string base = CommandTarget(spec("echo {toggles}")).description();
  EXPECT_EQ(CommandTarget(spec("echo {toggles}")).description(), base);
  EXPECT_NE(CommandTarget(spec("echo {toggles} x")).description(), base);
  EXPECT_NE(CommandTarget(spec("echo {toggles}", {"skip=--skip2|", "rec=1|0"})).description(),
            base);
  CommandSpec with = spec("echo {toggles}");
  with.fail_patterns = {"A=b"};
  EXPECT_NE(CommandTarget(with).description(), base);
}

TEST(ParseDurationTest, ReadsUnitsAndRefusesTheRest) {
  EXPECT_EQ(parse_duration("--timeout", "90"), milliseconds(90'000));
  EXPECT_EQ(parse_duration("--timeout", "1.5m"), milliseconds(90'000));
  EXPECT_EQ(parse_duration("--timeout", "500ms"), milliseconds(500));
  EXPECT_EQ(parse_duration("--timeout", "2h"), milliseconds(7'200'000));
  for (const char* bad : {"", "s", "-1", "0", "1d", "nan", "inf", "1e99", "10 s", "0.5ms"})
    EXPECT_USAGE_ERROR(parse_duration("--timeout", bad), "--timeout: got");
}

TEST(BisectStatusTest, KnowsThreeAnswers) {
  const Trial fail{Trial::Status::kFail, "EXIT:1:ValueError: x@y"};
  EXPECT_EQ(bisect_status({Trial::Status::kPass, ""}, "EXIT:1"), 0);
  EXPECT_EQ(bisect_status(fail, "EXIT:1:ValueError: x@y"), 1);
  EXPECT_EQ(bisect_status(fail, "EXIT:1"), 1);
  EXPECT_EQ(bisect_status(fail, ""), 1);
  EXPECT_EQ(bisect_status(fail, "EXIT"), 1);
  EXPECT_EQ(bisect_status(fail, "EXIT:11"), 125);
  EXPECT_EQ(bisect_status(fail, "EXIT:1:Val"), 125);
  EXPECT_EQ(bisect_status({Trial::Status::kFail, "SIGNAL:KILL"}, "EXIT:1"), 125);
  EXPECT_EQ(bisect_status({Trial::Status::kUnresolved, ""}, ""), 125);
}

}  // namespace
}  // namespace culprit
