#!/usr/bin/env python3
"""End-to-end test of `culprit isolate` and `culprit check` on small programs with planted failures.

usage: isolate_test.py BIN_FOLDER [NAME ...]     NAME: only the tests whose name contains one of these
"""
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = ""
CULPRIT = ""

# A program whose switches are words of its command line and variables; each run is a line of "runs".
SUBJECT = r"""
a=0; b=0; c=0; d=0; size=4; fixed=0
for word in "$@"; do
  case $word in --a) a=1;; --b) b=1;; --c) c=1;; --d) d=1;; --fixed) fixed=1;; --size=*) size=${word#--size=};; esac
done
echo "$* BAD=$BAD" >>runs
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def runs():
    return read("runs").splitlines() if os.path.exists("runs") else []


def toggles(names):
    return [word for name in names for word in ("--toggle", f"{name}=--{name}|")]


def culprit(*words, **options):
    return subprocess.run([CULPRIT, *words], capture_output=True, text=True, timeout=120, **options)


class Isolation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir("/")
        shutil.rmtree(self.folder)

    def subject(self, body):
        write("subject.sh", SUBJECT + body)

    def isolate(self, *words, status=1, out="out", command="sh subject.sh {toggles}"):
        done = culprit("isolate", "--command", command, "--out", out, *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.output = done.stdout
        return json.loads(read(f"{out}/report.json"))

    def combinations(self, report):
        return [(each["switches"], each["fingerprint"]) for each in report["minimal_combinations"]]

    def refused(self, pattern, *words):
        done = culprit("isolate", *words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(pattern, done.stderr)

    # --- what is found

    def test_two_way_and_inverted(self):
        self.subject('[ $a$b = 11 ] && { echo "ValueError: both" >&2; exit 3; }\n'
                     '[ $c$d = 10 ] && { echo "KeyError: c" >&2; exit 4; }\nexit 0')
        report = self.isolate(*toggles("abcd"))
        self.assertCountEqual(self.combinations(report), [
            ({"a": "--a", "b": "--b"}, "EXIT:3:ValueError: both"),
            ({"c": "--c", "d": "off"}, "EXIT:4:KeyError: c")])
        self.assertEqual(report["schema"], 1)
        self.assertGreater(report["trials"], 0)
        for each in report["minimal_combinations"]:
            self.assertTrue(each["proven"])
            self.assertEqual(each["failure_rate"]["k"], each["failure_rate"]["n"])
            self.assertEqual(len(each["certificate"]["necessity"]), 2)
            for pair in each["certificate"]["necessity"]:
                with_it, without = pair["with"]["switches"], pair["without"]["switches"]
                self.assertEqual([n for n in with_it if with_it[n] != without[n]], [pair["switch"]])
                self.assertGreater(pair["with"]["failures"], 0)
                self.assertEqual(pair["without"]["failures"], 0)
            for run in each["certificate"]["support"]:
                self.assertLessEqual(each["switches"].items(), run["switches"].items())
                self.assertGreater(run["failures"], 0)
        # The command printed repeats the failure.
        again = subprocess.run(report["minimal_combinations"][0]["repeat"], shell=True,
                               capture_output=True, check=False)
        self.assertEqual(again.returncode, 3)
        self.assertLess(len(read("out/report.md")), 65536)
        self.assertIn("a=--a + b=--b\n", self.output)
        self.assertIn("c=--c, while d is off\n", self.output)

    def test_many_switches_are_sampled(self):
        names = [f"s{i}" for i in range(14)]
        write("subject.sh", 'case " $* " in *" --s3 "*) case " $* " in *" --s11 "*) exit 5;; esac;; esac\nexit 0')
        report = self.isolate(*toggles(names), "--strength", "2", "--jobs", "2")
        self.assertEqual(self.combinations(report), [({"s3": "--s3", "s11": "--s11"}, "EXIT:5")])
        self.assertFalse(report["exhaustive"])
        pairs = report["coverage"][1]
        self.assertEqual(pairs["total"], 4 * 14 * 13 // 2)
        self.assertEqual(pairs["run"] + pairs["invalid"] + pairs["masked"] + pairs["left_out"], pairs["total"])

    def test_nothing_fails(self):
        self.subject("exit 0")
        report = self.isolate(*toggles("ab"), status=0)
        self.assertEqual(report["minimal_combinations"], [])
        self.assertIn("PASS", self.output)

    def test_signal_and_environment(self):
        self.subject('[ "$BAD$a" = x1 ] && kill -SEGV $$\nexit 0')
        report = self.isolate(*toggles("a"), "--env-toggle", "BAD=x|", "--no-error-line")
        self.assertEqual(self.combinations(report), [({"a": "--a", "BAD": "x"}, "SIGNAL:SEGV")])
        self.assertIn("env BAD=x sh subject.sh --a", report["minimal_combinations"][0]["repeat"])

    def test_constraints(self):
        self.subject("[ $a$b = 11 ] && exit 3\nexit 0")
        report = self.isolate(*toggles("abc"), "--requires", "b=--b -> c=--c")
        self.assertFalse([run for run in runs() if "--b" in run and "--c" not in run])
        # b brings c with it, so c cannot be told apart.
        self.assertEqual(self.combinations(report), [({"a": "--a", "b": "--b"}, "EXIT:3")])
        self.assertGreater(report["coverage"][1]["invalid"], 0)

    def test_pattern_and_unresolved(self):
        self.subject('[ $a = 1 ] && echo "loss: nan"\n[ $b = 1 ] && exit 125\nexit 0')
        report = self.isolate(*toggles("ab"), "--fail-regex", "NAN=loss: *nan")
        self.assertEqual(self.combinations(report), [({"a": "--a"}, "MATCH:NAN")])
        self.assertTrue([note for note in report["notices"] if "could not be judged" in note])

    def test_what_was_never_judged_is_no_pass(self):
        write("cannot.sh", 'case "$*" in *-z*) exit 125;; esac\n')
        self.isolate("--toggle", "z=-z|", "--toggle", "y=-y|", status=3, command="sh cannot.sh {toggles}")
        self.assertIn("CANNOT TELL", self.output)
        self.assertNotIn("PASS", self.output)

    def test_dump_of_a_command_that_changes_its_folder(self):
        os.mkdir("sub")
        write("sub/program.sh", 'case "$*" in *-i*) v=2;; *) v=1;; esac\necho "{\\"g\\": $v}" >"$1"\n')
        report = self.isolate("--toggle", "i=-i|",
                              command="sh -c 'cd sub && sh program.sh {dump.json} {toggles}'")
        self.assertEqual(self.combinations(report), [({"i": "-i"}, "DUMP:differs:g")])

    def test_dump(self):
        write("subject.py", "import json, sys\n"
              "words = sys.argv[1:]\nw = [1.0, 2.0] if '--a' not in words else [1.0, 2.5]\n"
              "json.dump({'loss': 1.0, 'w': w}, open(words[-1], 'w'))\n")
        report = self.isolate(*toggles("ab"), command=f"{sys.executable} subject.py {{toggles}} {{dump.json}}")
        self.assertEqual(self.combinations(report), [({"a": "--a"}, "DUMP:differs:w")])
        self.assertTrue(report["minimal_combinations"][0]["silent"])
        self.assertIn("SILENT", self.output)

    def test_flaky(self):
        # Fails in three of ten runs, by a counter: not by chance, so that the test is the same each time.
        self.subject("n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) >count\n"
                     "[ $a$b$fixed = 110 ] && case $((n * 7 % 10)) in 0|3|6) exit 3;; esac\nexit 0")
        report = self.isolate(*toggles("abc"), "--flaky", "--fix", "cure=--fixed")
        self.assertEqual(self.combinations(report), [({"a": "--a", "b": "--b"}, "EXIT:3")])
        rate = report["minimal_combinations"][0]["failure_rate"]
        self.assertTrue(report["minimal_combinations"][0]["flaky"])
        self.assertTrue(0 < rate["k"] < rate["n"])
        self.assertTrue(rate["interval"][0] < 0.3 < rate["interval"][1])
        text = self.output + read("out/report.md")
        self.assertIn("comes and goes", text)
        self.assertIn("not seen again in 14 runs each", text)
        self.assertNotIn("passes", text)

    # --- sizes and fixes

    def test_sizes_and_fixes(self):
        self.subject('[ $a$b = 11 ] && [ $fixed = 0 ] && [ "$CURE" != 1 ] && [ $size -ge 3 ] && exit 3\n'
                     '[ "$HARM" = 1 ] && exit 9\nexit 0')
        report = self.isolate(*toggles("abc"), "--size", "size=8:1", "--fix", "flag=--fixed", "--fix", "other:a=--c",
                              "--fix", "useless=--x", "--env-fix", "CURE=1", "--env-fix", "HARM=1",
                              command="sh subject.sh --size={size} {toggles}")
        self.assertEqual(self.combinations(report), [({"a": "--a", "b": "--b"}, "EXIT:3")])
        size = report["minimal_combinations"][0]["sizes"]["sizes"][0]
        self.assertEqual((size["name"], size["given"], size["found"], size["is_smallest"]), ("size", 8, 3, True))
        self.assertIn("--size=3", report["minimal_combinations"][0]["repeat"])
        verdicts = {each["fixes"][0]: each["verdict"] for each in report["fixes"]["alone"]}
        self.assertEqual(verdicts, {"flag": "resolves", "other": "resolves", "useless": "no effect",
                                    "CURE=1": "resolves", "HARM=1": "breaks something"})
        self.assertTrue([cell for cell in report["fixes"]["cells"] if not cell["fails"]])

    def test_pair_of_fixes(self):
        self.subject('[ $a = 1 ] && [ "$X$Y" != 11 ] && exit 3\nexit 0')
        report = self.isolate(*toggles("ab"), "--env-fix", "X=1", "--env-fix", "Y=1")
        self.assertEqual([each["verdict"] for each in report["fixes"]["alone"]], ["no effect"] * 2)
        self.assertEqual([(each["fixes"], each["verdict"]) for each in report["fixes"]["pairs"]],
                         [(["X=1", "Y=1"], "resolves")])

    # --- stops, journal

    def test_budget(self):
        self.subject("[ $a$b = 11 ] && exit 3\nexit 0")
        report = self.isolate(*toggles("abcd"), "--max-trials", "5", status=3)
        self.assertFalse(report["complete"])
        self.assertIn("budget", report["stopped"])
        self.assertIn("INCOMPLETE", self.output)
        self.assertIn("Incomplete", read("out/report.md"))
        self.assertEqual(len(runs()), 5)
        report = self.isolate(*toggles("abcd"), "--resume")
        self.assertEqual(self.combinations(report), [({"a": "--a", "b": "--b"}, "EXIT:3")])

    def start(self, *words):
        process = subprocess.Popen([CULPRIT, "isolate", "--command", "sh subject.sh {toggles}", *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 30
        while len(runs()) < 8 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return process

    def test_interrupt(self):
        self.subject("sleep 0.02\n[ $a$b = 11 ] && exit 3\nexit 0")
        process = self.start(*toggles("abcdefg"), "--out", "out")
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 3, output + error)
        self.assertIn("stopped by SIGINT", json.loads(read("out/report.json"))["stopped"])
        self.assertIn("--resume", output)

    def test_kill_and_resume(self):
        self.subject("sleep 0.02\n[ $a$b = 11 ] && exit 3\nexit 0")
        process = self.start(*toggles("abcde"), "--out", "out")
        process.kill()
        process.communicate()
        finished = [line for line in read("out/journal.jsonl").splitlines() if '"done"' in line]
        before = len(runs())
        with open("out/journal.jsonl", "a", encoding="utf-8") as file:
            file.write('{"start":9')  # a line that the power failure cut
        done = culprit("isolate", "--command", "sh subject.sh {toggles}", *toggles("abcde"), "--out", "out")
        self.assertEqual(done.returncode, 2)
        report = self.isolate(*toggles("abcde"), "--resume")
        self.assertEqual(self.combinations(report), [({"a": "--a", "b": "--b"}, "EXIT:3")])
        self.assertTrue([note for note in report["notices"] if "dropped" in note])
        # Only what had not finished ran again.
        self.assertEqual(len(runs()) - before, report["trials"] - len(finished))
        self.assertEqual(len(report["matrix"]), report["trials"])
        whole = self.isolate(*toggles("abcde"), out="whole")
        self.assertEqual(whole["minimal_combinations"], report["minimal_combinations"])

    def test_resume_of_another_search(self):
        self.subject("exit 0")
        self.isolate(*toggles("ab"), status=0)
        before = read("out/journal.jsonl")
        self.refused("another search", "--command", "sh subject.sh {toggles}", *toggles("abc"), "--out", "out", "--resume")
        self.assertEqual(read("out/journal.jsonl"), before)
        os.mkdir("other")
        write("other/report.md", "mine")
        self.refused("no journal", "--command", "sh subject.sh {toggles}", *toggles("ab"), "--out", "other", "--resume")
        self.assertEqual(read("other/report.md"), "mine")

    def test_merge(self):
        self.subject("[ $a$b = 11 ] && exit 3\nexit 0")
        self.isolate(*toggles("abcd"), "--max-trials", "7", "--origin", "one", out="one", status=3)
        self.isolate(*toggles("abcd"), "--max-trials", "9", "--origin", "two", "--seed", "2", out="two", status=3)
        before = len(runs())
        done = culprit("isolate", "--merge", "one", "two/journal.jsonl", "--out", "both")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.isolate(*toggles("abcd"), "--resume", "--origin", "three", out="both")
        self.assertEqual(self.combinations(report), [({"a": "--a", "b": "--b"}, "EXIT:3")])
        self.assertEqual({trial["origin"].split("-")[0] for trial in report["matrix"]}, {"one", "two", "three"})
        self.assertEqual(len(report["matrix"]), 7 + 9 + len(runs()) - before)
        at_once = self.isolate(*toggles("abcd"), "--merge", "one", "two", out="at_once")
        self.assertEqual(at_once["minimal_combinations"], report["minimal_combinations"])
        self.isolate(*toggles("ab"), out="other")
        self.refused("different searches", "--merge", "one", "other", "--out", "never")
        self.assertFalse(os.path.exists("never"))

    # --- bad input: exit 2, before the first trial, nothing left behind

    def test_bad_input(self):
        self.subject("exit 0")
        good = ["--command", "sh subject.sh {toggles}"]
        cases = [
            ("appears in no template", ["--command", "sh subject.sh", "--toggle", "a=--a|"]),
            ("cannot start 'no-such-program'", ["--command", "no-such-program {toggles}", "--toggle", "a=--a|"]),
            ("forbids the reference", [*good, *toggles("ab"), "--excludes", "a=off, b=off"]),
            ("forbids the reporter's own run", [*good, *toggles("ab"), "--excludes", "a=--a, b=--b"]),
            ("did you mean 'alpha'", [*good, "--toggle", "alpha=--a|", "--toggle", "b=--b|", "--excludes", "alpah=off, b=off"]),
            ("did you mean '--toggle'", [*good, "--togle", "a=--a|"]),
            ("did you mean 'skip_identity_leaf'", ["--scenario", "skip_identity_leef"]),
            ("did you mean 'residual'", ["--scenario", "skip_identity_leaf", "--vary", "residul"]),
            ("no target", []),
            ("belongs to --scenario", [*good, *toggles("a"), "--tp", "2"]),
            ("belongs to --command", ["--scenario", "skip_identity_leaf", "--toggle", "a=b|"]),
            ("--resume needs --out", [*good, *toggles("a"), "--resume"]),
            ("no folder", [*good, *toggles("a"), "--json", "nowhere/report.json"]),
            ("--out: got an empty value", [*good, *toggles("a"), "--out", ""]),
            ("--json: got an empty value", [*good, *toggles("a"), "--json", ""]),
            ("--emit-script: got an empty value", ["--from", "a.sh", "--emit-script", ""]),
            ("--from: got an empty value", [*good, *toggles("a"), "--from", ""]),
            ("--emit-script needs --from", [*good, *toggles("a"), "--emit-script", "new.sh"]),
        ]
        for pattern, words in cases:
            with self.subTest(pattern):
                self.refused(pattern, *words)
        self.assertEqual(runs(), [])
        self.assertEqual(os.listdir("."), ["subject.sh"])

    def test_reference_fails(self):
        self.subject('echo "this is why" >&2\nexit 1')
        done = culprit("isolate", "--command", "sh subject.sh {toggles}", *toggles("a"), "--out", "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this is why", done.stderr)
        self.assertFalse(os.path.exists("out"))

    def test_text_is_escaped(self):
        self.subject("[ $a = 1 ] && { printf 'Error: <b>\\033[31m @all | `x`\\n' >&2; exit 1; }\nexit 0")
        self.isolate("--toggle", "a=--a|", "--toggle", "b='<i>'|")
        self.assertNotIn("\033", self.output + read("out/report.md") + read("out/report.json"))
        outside_code = "".join(read("out/report.md").split("```")[::2])
        for live in ("<b>", "<i>", " @all"):
            self.assertNotIn(live, outside_code)

    # --- check

    def check(self, *words):
        return culprit("check", "--command", "sh subject.sh {toggles}", *words)

    def test_check(self):
        self.subject("[ $a$b = 11 ] && { echo 'ValueError: x' >&2; exit 3; }\n[ $c = 1 ] && kill -SEGV $$\nexit 0")
        flags = toggles("abc")
        self.assertEqual(self.check(*flags).returncode, 1)
        self.assertEqual(self.check(*flags, "--fingerprint", "EXIT:3").returncode, 1)
        self.assertEqual(self.check(*flags, "--fingerprint", "EXIT:4").returncode, 125)
        self.assertEqual(self.check(*flags, "--set", "a=off", "--set", "c=off").returncode, 0)
        self.assertEqual(self.check(*flags, "--set", "a=off").returncode, 1)
        self.assertEqual(self.check(*flags, "--set", "a=off", "--fingerprint", "EXIT:3").returncode, 125)
        self.assertEqual(self.check(*flags, "--set", "q=off").returncode, 125)
        self.assertEqual(self.check(*flags, "--no-such-flag").returncode, 125)
        # An unset variable would take any failure for the one looked for.
        self.assertEqual(self.check(*flags, "--fingerprint", "").returncode, 125)
        self.assertEqual(culprit("check", "--command", "no-such-program {toggles}", *flags).returncode, 125)
        scenario = culprit("check", "--scenario", "skip_identity_leaf", "--set", "first_op=none")
        self.assertEqual(scenario.returncode, 1, scenario.stdout)

    def test_check_keeps_to_its_statuses_when_nothing_can_be_printed(self):
        words = [CULPRIT, "check", "--command", "true {toggles}", "--toggle", "z=-z|"]
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertIn(subprocess.run(words, stdout=full, timeout=60, check=False).returncode, (0, 125))
        reader, writer = os.pipe()
        os.close(reader)
        for more in ([], ["--no-such-flag"]):
            done = subprocess.run([*words, *more], stdout=writer, stderr=writer, timeout=60, check=False)
            self.assertIn(done.returncode, (0, 125))
        os.close(writer)

    def test_git_bisect(self):
        if not shutil.which("git"):
            self.fail("git is needed: install git")
        environment = {**os.environ, "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org",
                       "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org", "GIT_CONFIG_GLOBAL": "/dev/null"}

        def git(*words):
            return subprocess.run(["git", *words], capture_output=True, text=True, env=environment, check=True).stdout

        git("init", "-q", "-b", "main")
        bodies = ["exit 0"] * 3 + ["kill -KILL $$"] + ["[ $a$b = 11 ] && exit 3\nexit 0"] * 4
        commits = []
        for number, body in enumerate(bodies):
            write("subject.sh", f"# {number}\n" + SUBJECT + body)
            git("add", "subject.sh")
            git("commit", "-q", "-m", str(number))
            commits.append(git("rev-parse", "HEAD").strip())
        git("bisect", "start", commits[-1], commits[0])
        command = [CULPRIT, "check", "--command", "sh subject.sh {toggles}", *toggles("ab"), "--fingerprint", "EXIT:3"]
        done = subprocess.run(["git", "bisect", "run", *command], capture_output=True, text=True, env=environment, check=False)
        # The commit that dies in another way can't be told: it and the first bad one are left.
        text = done.stdout + done.stderr
        self.assertIn(commits[4], text)
        self.assertIn(commits[3], text)
        self.assertNotIn(f"{commits[5]} is the first bad commit", text)

    # --- scenarios

    def test_scenario_agrees_with_its_matrix(self):
        for scenario in ("skip_identity_leaf", "released_tensor_read"):
            with self.subTest(scenario):
                report = self.scenario_report(scenario)
                done = culprit("run", scenario, "--out", f"{scenario}-run")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                matrix = json.loads(read(f"{scenario}-run/report.json"))
                self.compare(report, matrix)

    def scenario_report(self, scenario):
        done = culprit("isolate", "--scenario", scenario, "--out", f"{scenario}-isolate")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("no GPU", done.stdout)
        return json.loads(read(f"{scenario}-isolate/report.json"))

    def compare(self, report, matrix):
        off = {each["name"]: each["values"][-1] for each in report["target"]["switches"]}
        cells = matrix["jobs"][0]["cells"]

        def contains(cell, switches):
            return all(cell["result"]["cell"][name] == value for name, value in switches.items())

        found = report["minimal_combinations"]
        self.assertTrue(found)
        for each in found:
            self.assertTrue(each["proven"])
            inside = [cell for cell in cells if contains(cell, each["switches"])]
            self.assertTrue(inside)
            self.assertTrue(all(cell["result"]["outcome"] != "PASS" for cell in inside))
            self.assertIn(each["fingerprint"], [cell["result"]["fingerprint"] for cell in inside])
            for name in each["switches"]:
                less = {key: value for key, value in each["switches"].items() if key != name}
                self.assertTrue(any(cell["result"]["fingerprint"] != each["fingerprint"]
                                    for cell in cells if contains(cell, less)))
        # Every failing cell is explained, and each minimal combination of the matrix is one of these,
        # but for switches that must be off.
        for cell in cells:
            if cell["result"]["outcome"] != "PASS":
                self.assertTrue(any(contains(cell, each["switches"]) for each in found), cell["label"])
        on_only = [{name: value for name, value in each["switches"].items() if value != off[name]} for each in found]
        for each in matrix["minimal_combinations"]:
            # What a constraint brings along (released outputs need a pipeline) is no setting of its own.
            self.assertTrue(any(found_on.items() <= each["switches"].items() for found_on in on_only), each)

    def test_launch_script(self):
        write("launch.sh", "#!/bin/bash\n# the reporter's comment\npython -u -m paddle.distributed.launch --gpus 0,1,2,3 \\\n"
              "  train.py \\\n  --tensor_parallel_degree 2 \\\n  --pipeline_parallel_degree 2 \\\n"
              "  --tensor_parallel_config \"enable_mp_skip_c_identity enable_mp_async_allreduce\" \\\n"
              "  --gradient_accumulation_steps 4 \\\n  --recompute 1\n")
        done = culprit("isolate", "--from", "launch.sh", "--out", "out", "--emit-script", "small.sh")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        report = json.loads(read("out/report.json"))
        kept = report["minimal_combinations"][0]["switches"]
        self.assertEqual((kept["identity"], kept["path"]), ("skip", "identity"))
        self.assertNotIn("recompute", kept)
        self.assertEqual(read("small.sh"), read("launch.sh").replace(" enable_mp_async_allreduce", "").replace(
            "--recompute 1", "--recompute 0"))
        self.refused("exists already", "--from", "launch.sh", "--out", "again", "--emit-script", "small.sh")
        self.assertFalse(os.path.exists("again"))


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[1])
    CULPRIT = os.path.join(BIN, "culprit")
    wanted = sys.argv[2:]
    suite = unittest.TestSuite(
        test for test in unittest.defaultTestLoader.loadTestsFromTestCase(Isolation)
        if not wanted or any(name in test.id() for name in wanted))
    outcome = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if outcome.wasSuccessful() else 1)
