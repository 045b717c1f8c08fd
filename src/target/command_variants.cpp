// The part of CommandTarget that knows sizes and fixes: what a trial can change beside its toggles.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "target/command_target.hpp"
#include "terminal/suggest.hpp"

namespace culprit {

const Toggle* CommandTarget::toggle_named(const std::string& name) const {
  for (const Toggle& toggle : toggles_)
    if (toggle.name == name) return &toggle;
  return nullptr;
}

void CommandTarget::read_variants() {
  trial_space_ = space_;
  std::set<std::string> names;
  std::vector<std::string> toggle_names;
  for (const Toggle& toggle : toggles_) toggle_names.push_back(toggle.name);
  for (const SizeSpec& size : spec_.sizes) {
    if (!names.insert(size.name).second)
      throw UsageError(fmt::format("two sizes are named '{}'", size.name));
    Switch values{size.name, {}};
    for (const std::int64_t value : size.values) values.values.push_back(std::to_string(value));
    if (const Toggle* toggle = toggle_named(size.name)) {
      if (toggle->is_environment || toggle->texts.front() != values.values.back())
        throw UsageError(
            fmt::format("--size '{}' stands for the first value of the toggle of that name: "
                        "expected {}, got {}",
                        size.name, toggle->texts.front(), values.values.back()));
      values.name += " (size)";  // names are unique in a space
    } else if (!has_placeholder(size.name)) {
      throw UsageError(fmt::format("--size '{}' appears in no template: --command has no {{{}}}",
                                   size.name, size.name));
    }
    trial_space_.switches.push_back(std::move(values));
  }
  names.clear();
  for (const CommandFix& fix : spec_.fixes) {
    if (!names.insert(fix.name).second)
      throw UsageError(fmt::format("two fixes are named '{}'", fix.name));
    auto& words = fix_words_.emplace_back();
    if (fix.kind != CommandFix::Kind::kEnvironment)
      for (Word& word : split_words(fix.text)) words.push_back(std::move(word.text));
    if (fix.kind == CommandFix::Kind::kReplace) {
      const Toggle* toggle = toggle_named(fix.where);
      if (!toggle)
        throw UsageError(fmt::format("--fix '{}:{}=...': no toggle is named '{}'{}", fix.name,
                                     fix.where, fix.where, did_you_mean(fix.where, toggle_names)));
      if (toggle->is_environment)
        throw UsageError(
            fmt::format("--fix '{}:{}=...': '{}' is a variable; write --env-fix '{}=...'", fix.name,
                        fix.where, fix.where, fix.where));
    }
    trial_space_.switches.push_back({"fix " + fix.name, {"on", "off"}});
  }
}

Assignment CommandTarget::trial(Assignment toggles) const {
  for (std::size_t i = toggles.size(); i < trial_space_.switches.size(); ++i)
    toggles.push_back(static_cast<std::uint16_t>(trial_space_.switches[i].values.size() - 1));
  return toggles;
}

Assignment CommandTarget::reference() const {
  Assignment toggles;
  for (const Toggle& toggle : toggles_)
    toggles.push_back(static_cast<std::uint16_t>(toggle.values.size() - 1));
  return trial(std::move(toggles));
}

Assignment CommandTarget::reported() const { return trial(Assignment(toggles_.size(), 0)); }

bool CommandTarget::size_applies(std::size_t size, const Assignment& trial) const {
  for (std::size_t t = 0; t < toggles_.size(); ++t)
    if (toggles_[t].name == spec_.sizes[size].name) return trial.at(t) == 0;
  return true;
}

bool CommandTarget::fix_applies(std::size_t fix, const Assignment& trial) const {
  const CommandFix& what = spec_.fixes.at(fix);
  if (what.kind == CommandFix::Kind::kAppend) return true;
  for (std::size_t t = 0; t < toggles_.size(); ++t) {
    if (toggles_[t].name != what.where) continue;
    const bool is_off = trial.at(t) + 1U == toggles_[t].texts.size();
    if (is_off && what.kind == CommandFix::Kind::kReplace && !what.even_when_off) return false;
    return toggles_[t].texts.at(trial.at(t)) != what.text;
  }
  return true;
}

std::vector<std::string> CommandTarget::toggle_words(std::size_t toggle,
                                                     const Assignment& assignment) const {
  const std::string& name = toggles_[toggle].name;
  for (std::size_t f = 0; f < spec_.fixes.size(); ++f)
    if (spec_.fixes[f].kind == CommandFix::Kind::kReplace && spec_.fixes[f].where == name &&
        is_on(f, assignment) && fix_applies(f, assignment))
      return fix_words_[f];
  for (std::size_t i = 0; i < spec_.sizes.size(); ++i)
    if (spec_.sizes[i].name == name && size_applies(i, assignment))
      return {std::to_string(spec_.sizes[i].values.at(assignment.at(size_switch(i))))};
  return words_[toggle].at(assignment.at(toggle));
}

std::vector<std::string> CommandTarget::appended_words(const Assignment& assignment) const {
  std::vector<std::string> words;
  for (std::size_t f = 0; f < spec_.fixes.size(); ++f)
    if (spec_.fixes[f].kind == CommandFix::Kind::kAppend && is_on(f, assignment))
      words.insert(words.end(), fix_words_[f].begin(), fix_words_[f].end());
  return words;
}

Setting CommandTarget::setting(std::string_view flag, std::string_view text) const {
  // Sizes and fixes are looked up as toggles whose values are named by their text.
  std::vector<Toggle> all = toggles_;
  for (const SizeSpec& size : spec_.sizes) {
    Toggle toggle{size.name, false, {}, {}};
    for (const std::int64_t value : size.values) toggle.texts.push_back(std::to_string(value));
    toggle.values = toggle.texts;
    all.push_back(std::move(toggle));
  }
  for (const CommandFix& fix : spec_.fixes)
    all.push_back({fix.name, false, {"on", "off"}, {"on", "off"}});
  return parse_setting(flag, text, all);
}

}  // namespace culprit
