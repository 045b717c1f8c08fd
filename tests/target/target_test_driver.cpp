// Driver of the resume test: target_test_driver FOLDER. Runs each assignment of six switches twice
// through a journal in FOLDER; each trial writes a line to FOLDER/log when it ends. Resumes what it
// finds.
#include <string>
#include <vector>

#include "target/command_runner.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  culprit::CommandSpec spec;
  spec.command = "sh -c 'sleep 0.01; echo \"$@\" >> " + folder + "/log' sh {toggles}";
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    spec.toggles.push_back(std::string(name) + "=" + name + "|");
  const culprit::CommandTarget target(spec);
  auto journal = culprit::Journal::resume(folder + "/journal",
                                          {target.space(), target.description()}, "driver");
  culprit::CommandRunnerOptions options;
  options.jobs = 2;
  const culprit::Evaluate evaluate = culprit::make_evaluate(target, journal, options);
  for (int repeat = 0; repeat < 2; ++repeat)
    for (int bits = 0; bits < 64; bits += 4) {
      std::vector<culprit::Assignment> batch;
      for (int each = bits; each < bits + 4; ++each) {
        culprit::Assignment assignment;
        for (int i = 0; i < 6; ++i) assignment.push_back(static_cast<std::uint16_t>(each >> i & 1));
        batch.push_back(assignment);
      }
      if (evaluate(batch).size() != batch.size()) return 3;
    }
  return 0;
}
