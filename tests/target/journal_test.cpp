#include "target/journal.hpp"

#include "target_test_support.hpp"

namespace culprit {
namespace {

class JournalTest : public testing::Test {
 protected:
  static JournalSubject subject() {
    return {
        {{{"a", {"1", "off"}}, {"b", {"x", "y", "z"}}}, {{{{0, 0}, {1, 2}}, "excludes a=1,b=z"}}},
        "command x\nrtol 1\n"};
  }
  // A journal with three finished trials, two of the same assignment, and one that did not finish.
  void write_three() {
    Journal journal = Journal::create(path_, subject(), "host");
    finish(journal, {0, 1}, {Trial::Status::kFail, "EXIT:1:\u00e4 \"q\""});
    finish(journal, {1, 2}, {Trial::Status::kPass, ""});
    finish(journal, {0, 1}, {Trial::Status::kUnresolved, ""});
    journal.start({1, 1});
  }
  static void finish(Journal& journal, const Assignment& assignment, const Trial& trial) {
    journal.finish(journal.start(assignment), assignment, trial, 0.25, "note");
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "journal.jsonl";
};

TEST_F(JournalTest, ResumesWithEveryFinishedTrial) {
  write_three();
  Journal journal = Journal::resume(path_, subject(), "host");
  ASSERT_EQ(journal.records().size(), 3u);
  EXPECT_TRUE(journal.notices().empty());
  EXPECT_EQ(journal.find({0, 1}, 0)->trial.fingerprint, "EXIT:1:\u00e4 \"q\"");
  EXPECT_EQ(journal.find({0, 1}, 1)->trial.status, Trial::Status::kUnresolved);
  EXPECT_EQ(journal.find({0, 1}, 2), nullptr);
  EXPECT_EQ(journal.find({1, 2}, 0)->seconds, 0.25);
  EXPECT_EQ(journal.find({1, 1}, 0), nullptr);  // started, not finished
  EXPECT_EQ(journal.start({1, 1}), 4u);         // ids go on
  const JournalContent content = read_journal(path_);
  EXPECT_EQ(content.unfinished, (std::vector<Assignment>{{1, 1}, {1, 1}}));
  EXPECT_EQ(content.subject.space.constraints[0].all_of, subject().space.constraints[0].all_of);
}

TEST_F(JournalTest, RefusesToOverwriteAndToShare) {
  Journal journal = Journal::create(path_, subject(), "host");
  EXPECT_USAGE_ERROR(Journal::create(path_, subject(), "host"), "exists");
  EXPECT_USAGE_ERROR(Journal::resume(path_, subject(), "host"), "being written by another process");
  EXPECT_THROW(Journal::create("/no/such/folder/journal", subject(), "host"), SetupError);
}

TEST_F(JournalTest, RefusesAnotherSubject) {
  write_three();
  JournalSubject other = subject();
  other.description = "command y\nrtol 1\n";
  EXPECT_USAGE_ERROR(Journal::resume(path_, other, "host"),
                     "it has 'command x', expected 'command y'");
  other = subject();
  other.space.switches[1].values.pop_back();
  EXPECT_USAGE_ERROR(Journal::resume(path_, other, "host"), "values");
  other = subject();
  other.space.constraints.clear();
  EXPECT_USAGE_ERROR(Journal::resume(path_, other, "host"), "constraints differ");
}

// Whatever length the last write got to, the journal resumes with all lines before it.
TEST_F(JournalTest, DropsALastLineCutAnywhere) {
  write_three();
  const std::string whole = read_text(path_);
  const std::size_t last_line = whole.rfind('\n', whole.rfind("\"done\"")) + 1;
  const std::size_t last_end = whole.find('\n', last_line);
  for (std::size_t cut = last_line + 1; cut <= last_end; ++cut) {
    write_text(path_, whole.substr(0, cut));
    Journal journal = Journal::resume(path_, subject(), "host");
    ASSERT_EQ(journal.records().size(), 2u) << cut;
    ASSERT_EQ(journal.notices().size(), 1u) << cut;
    EXPECT_NE(journal.notices()[0].find(path_ + ":7: dropped the last line"), std::string::npos)
        << journal.notices()[0];
    finish(journal, {0, 0}, {Trial::Status::kPass, ""});
    const JournalContent content = read_journal(path_);  // and what is appended is whole again
    ASSERT_EQ(content.records.size(), 3u) << cut;
    ASSERT_TRUE(content.notices.empty()) << cut;
  }
}

TEST_F(JournalTest, DropsZerosAndDamageAtTheEnd) {
  write_three();
  const std::string whole = read_text(path_);
  for (const std::string& end :
       {std::string(4096, '\0'), std::string("{\"done\":\n"), std::string("\xff\xfe\n")}) {
    write_text(path_, whole + end);
    Journal journal = Journal::resume(path_, subject(), "host");
    EXPECT_EQ(journal.records().size(), 3u);
    EXPECT_EQ(journal.notices().size(), 1u);
    EXPECT_EQ(read_text(path_), whole);
  }
}

TEST_F(JournalTest, CutHeaderStartsAnew) {
  write_three();
  const std::string whole = read_text(path_);
  for (const std::string& left :
       {whole.substr(0, 20), whole.substr(0, 200), std::string(30, '\0'), std::string()}) {
    write_text(path_, left);
    Journal journal = Journal::resume(path_, subject(), "host");
    EXPECT_EQ(journal.records().size(), 0u);
    finish(journal, {0, 0}, {Trial::Status::kPass, ""});
    EXPECT_EQ(read_journal(path_).records.size(), 1u);
  }
  std::filesystem::remove(path_);
  EXPECT_EQ(Journal::resume(path_, subject(), "host").records().size(), 0u);
}

TEST_F(JournalTest, DamageInTheMiddleIsAnErrorWithItsLine) {
  write_three();
  const std::string whole = read_text(path_);
  const std::size_t third = whole.find('\n', whole.find('\n') + 1) + 1;
  const auto with_third = [&](const std::string& line) {
    const std::string text = whole.substr(0, third) + line + whole.substr(whole.find('\n', third));
    write_text(path_, text);
    EXPECT_USAGE_ERROR(Journal::resume(path_, subject(), "host"), path_ + ":3: ");
    EXPECT_EQ(read_text(path_), text);  // and the evidence is left alone
  };
  with_third("{\"done\":0,\"assig");
  with_third("");
  with_third("[]");
  with_third("{\"other\":1}");
  with_third(R"({"done":0,"assignment":[0],"status":"pass","seconds":1})");
  with_third(R"({"done":0,"assignment":[0,3],"status":"pass","seconds":1})");
  with_third(R"({"done":0,"assignment":[0,-1],"status":"pass","seconds":1})");
  with_third(R"({"done":0,"assignment":[0,1],"status":"good","seconds":1})");
  with_third(R"({"done":0,"assignment":[0,1],"status":"pass","seconds":"1"})");
}

TEST_F(JournalTest, TrialThatEndedWithAnotherAssignmentIsDamage) {
  {
    Journal journal = Journal::create(path_, subject(), "host");
    const std::uint64_t id = journal.start({0, 1});
    journal.finish(id, {0, 1}, Trial{}, 1.0, "");
  }
  std::string text = read_text(path_);
  const std::string done = R"("done":0,"assignment":[0,1])";
  const std::size_t at = text.find(done);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, done.size(), R"("done":0,"assignment":[0,0])");
  write_text(path_, text);
  EXPECT_USAGE_ERROR(read_journal(path_), path_ + ":3: damaged: trial 0");
}

TEST_F(JournalTest, RefusesForeignFiles) {
  write_text(path_, "{\"a\":1}\n{\"b\":2}\n");
  EXPECT_USAGE_ERROR(Journal::resume(path_, subject(), "host"),
                     path_ + ":1: not a line of a journal");
  write_text(path_, "hello\nworld\n");
  EXPECT_USAGE_ERROR(Journal::resume(path_, subject(), "host"), path_ + ":1: damaged line");
  EXPECT_EQ(read_text(path_), "hello\nworld\n");
  // One line, as a header that was cut would be.
  for (const std::string foreign : {"hello\n", "hello", "{\"journal\":\"of mine"}) {
    write_text(path_, foreign);
    EXPECT_USAGE_ERROR(Journal::resume(path_, subject(), "host"), "not a journal of trials");
    EXPECT_EQ(read_text(path_), foreign);
  }
  write_text(path_,
             R"({"journal":"culprit-trials","schema":2,"origin":"x","description":"","space":{}})"
             "\n");
  EXPECT_USAGE_ERROR(Journal::resume(path_, subject(), "host"), "schema 2, this version reads 1");
  EXPECT_THROW(read_journal(folder_ / "none"), SetupError);
}

TEST_F(JournalTest, TextThatIsNotUtf8CanBeResumed) {
  JournalSubject odd = subject();
  odd.description = "command \xff\n";
  { Journal journal = Journal::create(path_, odd, "host"); }
  EXPECT_EQ(Journal::resume(path_, odd, "host").records().size(), 0u);
}

TEST_F(JournalTest, MergesWithOriginsAndWithoutDoubles) {
  const std::string a = folder_ / "a";
  const std::string b = folder_ / "b";
  const std::string first = folder_ / "first";
  const std::string second = folder_ / "second";
  {
    Journal journal = Journal::create(a, subject(), "left");
    finish(journal, {0, 1}, {Trial::Status::kPass, ""});
  }
  {
    Journal journal = Journal::create(b, subject(), "right");
    finish(journal, {0, 1}, {Trial::Status::kFail, "X"});
  }
  EXPECT_TRUE(merge_journals(std::vector{a, b}, first).empty());
  {
    Journal journal = Journal::resume(a, subject(), "left");
    finish(journal, {0, 0}, {Trial::Status::kFail, "Y"});
  }
  write_text(b, read_text(b) + "{\"cut");
  EXPECT_EQ(merge_journals(std::vector{first, a, b}, second).size(),
            1u);  // a notice for the cut line
  Journal merged = Journal::resume(second, subject(), "third");
  ASSERT_EQ(merged.records().size(), 3u);
  EXPECT_EQ(merged.records()[0].origin.substr(0, 5), "left-");
  EXPECT_EQ(merged.records()[1].origin.substr(0, 6), "right-");
  EXPECT_EQ(merged.records()[2].origin.substr(0, 5), "left-");
  EXPECT_EQ(merged.find({0, 1}, 1)->trial.fingerprint, "X");
  finish(merged, {1, 1}, {Trial::Status::kPass, ""});
  EXPECT_EQ(read_journal(second).records.at(3).origin.substr(0, 6), "third-");
}

TEST_F(JournalTest, CopiesThatWentOnApartKeepAllTheirTrials) {
  const std::string copy = folder_ / "copy";
  const std::string out = folder_ / "out";
  {
    Journal journal = Journal::create(path_, subject(), "host");
    finish(journal, {0, 0}, {Trial::Status::kPass, ""});
  }
  std::filesystem::copy_file(path_, copy);
  for (const std::string& each : {path_, copy}) {
    Journal journal = Journal::resume(each, subject(), "host");
    finish(journal, {0, 1}, {Trial::Status::kPass, ""});
  }
  merge_journals(std::vector{path_, copy}, out);
  EXPECT_EQ(read_journal(out).records.size(), 3u);
}

TEST_F(JournalTest, KeepsCosts) {
  {
    Journal journal = Journal::create(path_, subject(), "host");
    journal.finish(journal.start({0, 0}), {0, 0}, {Trial::Status::kPass, ""}, 0.5, "",
                   {{"copied_bytes", 96}, {"peak_bytes", -1}});
  }
  EXPECT_EQ(read_journal(path_).records.at(0).cost,
            (TrialCost{{"copied_bytes", 96}, {"peak_bytes", -1}}));
}

TEST_F(JournalTest, MergeRefusesDifferentSubjectsAndAnExistingResult) {
  write_three();
  JournalSubject other = subject();
  other.description = "command y\n";
  const std::string b = folder_ / "b";
  { Journal journal = Journal::create(b, other, "host"); }
  EXPECT_USAGE_ERROR(merge_journals(std::vector{path_, b}, folder_ / "out"),
                     "are of different searches");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  EXPECT_USAGE_ERROR(merge_journals(std::vector{path_}, b), "exists");
  EXPECT_USAGE_ERROR(merge_journals({}, b), "no journal");
}

TEST_F(JournalTest, LoadsAHundredThousandTrials) {
  constexpr int kTrials = 100'000;
  const std::string lines = [] {
    std::string text;
    for (int i = 0; i < kTrials; ++i) {
      const std::string id = std::to_string(i);
      const std::string assignment =
          "\"assignment\":[" + std::to_string(i % 2) + "," + std::to_string(i % 3) + "]";
      text += "{\"start\":" + id + "," + assignment + "}\n{\"done\":" + id + "," + assignment +
              ",\"status\":\"fail\",\"fingerprint\":\"EXIT:1:ValueError: something went wrong in "
              "stage #\","
              "\"seconds\":0.251234567,\"note\":\"exit status 1: ValueError: something went wrong "
              "in stage 3\"}\n";
    }
    return text;
  }();
  { Journal journal = Journal::create(path_, subject(), "host"); }
  write_text(path_, read_text(path_) + lines);
  Journal journal = Journal::resume(path_, subject(), "host");
  EXPECT_EQ(journal.records().size(), static_cast<std::size_t>(kTrials));
  EXPECT_EQ(journal.find({1, 2}, kTrials / 6 - 1)->trial.status, Trial::Status::kFail);
}

}  // namespace
}  // namespace culprit
