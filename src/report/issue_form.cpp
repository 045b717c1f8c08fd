#include "report/issue_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "report/explain.hpp"
#include "report/known_reports.hpp"
#include "report/markup.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"
#include "terminal/suggest.hpp"

namespace culprit {
namespace {

// What a field asks for.
enum class Answer { kBug, kSteps, kExpected, kVersions, kSystem, kLauncher, kContext, kOwn };

struct FormField {
  std::string label;  // as the form shows it
  std::string id;     // its name in a new-issue address; empty: an address can't fill it
  Answer answer;
  std::string own;  // what only the reporter can say here
};

// The forms as they stood in the projects' .github/ISSUE_TEMPLATE in November 2026.
struct IssueForm {
  std::string name;
  std::string project;
  std::string file;
  std::string title_prefix;
  bool is_body;  // a Markdown template: one text, its headings are the fields
  std::vector<FormField> fields;
};

const std::vector<IssueForm>& forms() {
  static const std::vector<IssueForm> list{
      {.name = "paddle",
       .project = "PaddlePaddle/Paddle",
       .file = "1_bug-report.yml",
       .title_prefix = "",
       .is_body = false,
       .fields = {{"bug描述 Describe the Bug", "code", Answer::kBug,
                   "the full traceback of your own run"},
                  {"其他补充信息 Additional Supplementary Information", "others", Answer::kContext,
                   "PaddlePaddle version or commit, GPU, CUDA and NCCL of your own run"}}},
      {.name = "megatron",
       .project = "NVIDIA/Megatron-LM",
       .file = "bug_report.md",
       .title_prefix = "",
       .is_body = true,
       .fields = {{"Describe the bug", "", Answer::kBug, "the full traceback of your own run"},
                  {"Steps/Code to reproduce bug", "", Answer::kSteps, ""},
                  {"Expected behavior", "", Answer::kExpected, ""},
                  {"Additional context", "", Answer::kContext,
                   "Megatron-LM commit, PyTorch, CUDA and NCCL versions of your own run"}}},
      {.name = "pytorch",
       .project = "pytorch/pytorch",
       .file = "bug-report.yml",
       .title_prefix = "",
       .is_body = false,
       .fields = {{"🐛 Describe the bug", "", Answer::kBug, "the full traceback of your own run"},
                  {"Versions", "", Answer::kVersions,
                   "the output of torch/utils/collect_env.py on your machine"}}},
      {.name = "deepspeed",
       .project = "deepspeedai/DeepSpeed",
       .file = "training_bug_report.md",
       .title_prefix = "[BUG] ",
       .is_body = true,
       .fields = {{"Describe the bug", "", Answer::kBug, "the full traceback of your own run"},
                  {"To Reproduce", "", Answer::kSteps, ""},
                  {"Expected behavior", "", Answer::kExpected, ""},
                  {"ds_report output", "", Answer::kOwn, "the output of ds_report on your machine"},
                  {"Screenshots", "", Answer::kOwn, ""},
                  {"System info", "", Answer::kSystem,
                   "GPU count and types, interconnects, Python version"},
                  {"Launcher context", "", Answer::kLauncher, ""},
                  {"Docker context", "", Answer::kOwn, "the docker image, if there is one"},
                  {"Additional context", "", Answer::kContext, ""}}}};
  return list;
}

std::string title_of(const RunRecord& record, const IssueForm& form) {
  std::string title = record.scenario->title;
  for (const JobResult& job : record.jobs)
    if (!job.minimal.empty()) {
      const MinimalFinding& finding = job.minimal.front();
      title = minimal_label(job, finding) + ": " + outcome_in_words(job.outcomes[finding.index]);
      break;
    }
  return form.title_prefix + escape_controls(title);
}

std::string fence(const std::string& text) { return "```\n" + text + "\n```\n"; }

std::string bug(const RunRecord& record, bool with_evidence) {
  std::string text;
  for (const JobResult& job : record.jobs)
    for (const MinimalFinding& finding : job.minimal) {
      const Outcome& outcome = job.outcomes[finding.index];
      text += fmt::format(
          "- **{}** {}\n", verdict_word(outcome),
          markdown_text(first_bad_in_words(job, job.matrix.choices[finding.index], outcome)));
      if (!with_evidence) continue;
      if (!outcome.message.empty())
        text += fmt::format("  - message: {}\n", markdown_text(outcome.message));
      for (const std::string& line : certificate_in_words(job, finding))
        text += fmt::format("  - {}\n", markdown_text(line));
    }
  if (text.empty()) return "No combination of the switches that were run fails.\n";
  const std::string not_needed = markdown_text(not_needed_in_words(record.jobs.back()));
  return text +
         fmt::format("\n{}{}Seen in a model of the mechanism ({}), on CPU, not in your code.\n",
                     not_needed, not_needed.empty() ? "" : ". ", kVersionText);
}

// The first program for the stock framework that was not seen to fail at it; null if there is none.
const Reproduction* framework_program(const RunRecord& record) {
  for (const FindingReproductions& finding : record.reproductions)
    for (const Reproduction& file : finding.files)
      if (file.name.ends_with(".py") && !file.text.empty() &&
          file.status != Reproduction::Status::kNotShown)
        return &file;
  return nullptr;
}

std::string steps(const RunRecord& record, bool with_evidence) {
  std::string commands, scales;
  for (const JobResult& job : record.jobs)
    for (const MinimalFinding& finding : job.minimal) {
      commands += (commands.empty() ? "" : "\n") +
                  escape_controls(repeat_command(
                      record, cell_of(job.matrix, job.matrix.choices[finding.index])));
      scales += fmt::format("- {}: {}\n", markdown_text(minimal_label(job, finding)),
                            markdown_text(smallest_in_words(job, finding)));
    }
  if (commands.empty()) commands = escape_controls(shell_line(record.command));
  std::string text = "Each line repeats one minimal combination on a CPU:\n\n" + fence(commands) +
                     (scales.empty() ? "" : "\nSmallest scale:\n\n" + scales);
  if (const Reproduction* program = with_evidence ? framework_program(record) : nullptr)
    text += fmt::format("\nOn the stock framework, without a GPU ({}: {}):\n\n{}",
                        name_of(program->status), markdown_text(program->words),
                        markdown_code(program->text, "python"));
  return text;
}

std::string context(const RunRecord& record) {
  std::string text;
  for (const JobResult& job : record.jobs) {
    if (job.minimal.empty()) continue;
    for (std::size_t f = 0; f < candidate_fixes().size(); ++f)
      if (fix_summary(job, f) == "clears all")
        text +=
            fmt::format("- fix that clears all: {} ({})\n",
                        markdown_text(candidate_fixes()[f].name), markdown_text(fix_cost(job, f)));
    for (const MinimalFinding& finding : job.minimal)
      for (const std::string& line : known_in_words(record, job, finding))
        text += fmt::format("- {}: {}\n", markdown_text(minimal_label(job, finding)), line);
  }
  return text.empty() ? "-\n" : text;
}

std::string versions(const RunRecord& record) {
  std::string text;
  for (const auto& [name, value] : record.environment)
    text += fmt::format("- {}: {}\n", markdown_text(name), markdown_text(value));
  return text;
}

std::string answer_to(const RunRecord& record, const FormField& field, bool with_evidence) {
  switch (field.answer) {
    case Answer::kBug:
      // Forms without a field for the steps take them here.
      return bug(record, with_evidence);
    case Answer::kSteps:
      return steps(record, with_evidence);
    case Answer::kExpected:
      return "Loss and every gradient agree with the same model on one rank, whatever switches are "
             "on.\n";
    case Answer::kVersions:
    case Answer::kSystem:
      return versions(record);
    case Answer::kLauncher:
      return record.launch.file.empty()
                 ? "no launch script was given\n"
                 : fmt::format("{} ({}), read and not run\n", markdown_text(record.launch.file),
                               markdown_text(record.launch.dialect));
    case Answer::kContext:
      return context(record);
    case Answer::kOwn:
      break;
  }
  return "";
}

bool asks_for_steps(const IssueForm& form) {
  return std::any_of(form.fields.begin(), form.fields.end(),
                     [](const FormField& field) { return field.answer == Answer::kSteps; });
}

std::string filled(const RunRecord& record, const IssueForm& form, const FormField& field,
                   bool with_evidence) {
  std::string text = answer_to(record, field, with_evidence);
  if (field.answer == Answer::kBug && !asks_for_steps(form)) text += "\n" + steps(record, with_evidence);
  if (!field.own.empty()) text += fmt::format("\n(please add: {})\n", field.own);
  return text;
}

std::string percent_encoded(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool plain = is_alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '~';
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

constexpr std::size_t kLongestAddress = 8000;

// The address with as much filled in as fits; `says` what that is.
std::string new_issue_address(const RunRecord& record, const IssueForm& form, std::string& says) {
  const std::string start =
      fmt::format("https://github.com/{}/issues/new?template={}&title={}", form.project, form.file,
                  percent_encoded(title_of(record, form)));
  for (const bool with_evidence : {true, false}) {
    std::string address = start;
    if (form.is_body) {
      std::string body;
      for (const FormField& field : form.fields)
        body +=
            fmt::format("**{}**\n\n{}\n", field.label, filled(record, form, field, with_evidence));
      address += "&body=" + percent_encoded(body);
    } else {
      for (const FormField& field : form.fields)
        if (!field.id.empty())
          address += fmt::format("&{}={}", field.id,
                                 percent_encoded(filled(record, form, field, with_evidence)));
    }
    const bool fills =
        form.is_body || std::any_of(form.fields.begin(), form.fields.end(),
                                    [](const FormField& field) { return !field.id.empty(); });
    says = !fills ? "opens it with the title only: this form's fields can't be filled by an address"
           : with_evidence ? "opens it filled in"
                           : "opens it filled in, without evidence: paste the fields below";
    if (address.size() <= kLongestAddress) return address;
  }
  says =
      "opens it with the title only: the fields are too long for an address, paste them from below";
  return start.size() <= kLongestAddress ? start : start.substr(0, start.find("&title="));
}

// A check box for each thing a maintainer will ask for.
std::string completeness(const RunRecord& record, const IssueForm& form) {
  bool has_finding = false;
  for (const JobResult& job : record.jobs) has_finding |= !job.minimal.empty();
  const auto item = [](bool there, const std::string& what) {
    return fmt::format("- [{}] {}\n", there ? 'x' : ' ', what);
  };
  std::string text = item(has_finding, "a minimal failing combination, with what passes beside it");
  text += item(has_finding, "a command that repeats it without a GPU");
  text += item(framework_program(record) != nullptr, "a program for the stock framework");
  text += item(has_finding, "candidate fixes, tried");
  text += item(!record.environment.empty(), "versions of what ran here");
  text += item(!record.launch.file.empty(), "your launch script (--from FILE)");
  for (const FormField& field : form.fields)
    if (!field.own.empty()) text += item(false, field.own);
  return text + item(false, "whether your own code takes the failing path: this run is of a model");
}

}  // namespace

const std::vector<std::string>& issue_form_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const IssueForm& form : forms()) list.push_back(form.name);
    return list;
  }();
  return names;
}

std::string issue_form(const RunRecord& record, const std::string& name) {
  const auto form = std::find_if(forms().begin(), forms().end(),
                                 [&](const IssueForm& each) { return each.name == name; });
  if (form == forms().end())
    throw UsageError(
        fmt::format("unknown form '{}'{}", name, did_you_mean(name, issue_form_names())));
  std::string says;
  const std::string address = new_issue_address(record, *form, says);
  std::string text =
      fmt::format("# {}: {}\n\n[Open a new issue]({}) ({}).\n\n## Title\n\n{}\n\n", form->project,
                  form->file, address, says, markdown_text(title_of(record, *form)));
  for (const FormField& field : form->fields)
    text += fmt::format("## {}\n\n{}\n", field.label, filled(record, *form, field, true));
  return text + "## Still missing\n\n" + completeness(record, *form);
}

}  // namespace culprit
