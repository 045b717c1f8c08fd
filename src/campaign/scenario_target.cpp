#include "campaign/scenario_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "matrix/axes.hpp"
#include "matrix/fixes.hpp"
#include "target/words.hpp"
#include "terminal/suggest.hpp"

namespace culprit {
namespace {

constexpr std::chrono::seconds kStall{10};

struct SearchedField {
  const Field* field = nullptr;
  std::vector<std::string> values;  // the reporter's first, off last
};

struct Plan {
  Cell pinned;  // searched fields at off, sizes as the reporter has them
  std::vector<SearchedField> searched;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

const std::string* value_in(const Settings& settings, const std::string& name) {
  const std::string* found = nullptr;
  for (const auto& [which, value] : settings)
    if (which == name) found = &value;
  return found;
}

// As field_of, with the nearest name in the error.
const Field& named_field(const Scenario& scenario, const std::string& name) {
  std::vector<std::string> names;
  for (const Field& each : scenario.own_toggles) names.push_back(each.name);
  for (const Field& each : fields()) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw UsageError(
        fmt::format("--vary: unknown size or toggle '{}'{}", name, did_you_mean(name, names)));
  return field_of(scenario, name);
}

SearchedField searched_field(const Scenario& scenario, const std::string& name,
                             const Settings& given) {
  static const Cell defaults;
  SearchedField searched{&field_of(scenario, name), {}};
  const std::string off = name == "pp" ? "1" : searched.field->get(defaults);
  const auto add = [&](const std::string& value) {
    auto& values = searched.values;
    if (value != off && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  };
  if (const std::string* value = value_in(given, name)) add(*value);
  if (name != "pp") {
    if (const std::string* value = value_in(scenario.claim, name)) add(*value);
    // Of a switch of the matrix what that has; of another field with many values only what the
    // reporter speaks of, or else all.
    for (const std::string& value : on_values(scenario, name, defaults)) add(value);
    const std::vector<std::string>& all = searched.field->values;
    if (all.size() == 2 || searched.values.empty())
      for (const std::string& value : all) add(value);
  }
  if (searched.values.empty())
    throw UsageError(
        fmt::format("{}: has one value only, expected two; write {}=VALUE|{}", name, name, off));
  searched.values.push_back(off);
  return searched;
}

bool is_possible(const Plan& plan, std::size_t a, const std::string& v, std::size_t b,
                 const std::string& w) {
  Cell cell = plan.pinned;
  plan.searched[a].field->set(cell, v);
  plan.searched[b].field->set(cell, w);
  return why_impossible(cell).empty();
}

// Values that no other switch makes possible (any identity but a copy at tp 1) are left out, and
// switches that have no choice then.
void drop_impossible(Plan& plan) {
  for (std::size_t a = 0; a < plan.searched.size(); ++a)
    std::erase_if(plan.searched[a].values, [&](const std::string& value) {
      for (std::size_t b = 0; b < plan.searched.size(); ++b)
        for (const std::string& other : plan.searched[b].values)
          if (a != b ? is_possible(plan, a, value, b, other)
                     : is_possible(plan, a, value, a, value))
            return false;
      return true;
    });
  std::erase_if(plan.searched, [](const SearchedField& each) { return each.values.size() < 2; });
  if (plan.searched.empty())
    throw UsageError("at these sizes no switch of the scenario has a choice; raise tp or pp");
}

Plan make_plan(const Scenario& scenario, const ScenarioRequest& request) {
  Plan plan;
  Settings given = request.given;
  const bool with_recompute = given.empty() || [&] {
    const std::string* value = value_in(given, "recompute");
    return value && *value != "none";
  }();
  if (given.empty())
    given.emplace_back("pp", std::to_string(std::max(plan.pinned.pp, claim_cell(scenario).pp)));
  apply_settings(scenario, plan.pinned, given);

  for (const std::string& name : scenario.toggles) {
    if (name == "pp" && plan.pinned.pp == 1) continue;
    if (name == "recompute" && !with_recompute) continue;
    if (name == "pp") given.emplace_back("pp", field("pp").get(plan.pinned));
    plan.searched.push_back(searched_field(scenario, name, given));
  }
  for (const std::string& text : request.vary) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const Field& varied = named_field(scenario, name);
    SearchedField searched = equals == std::string::npos
                                 ? searched_field(scenario, name, given)
                                 : SearchedField{&varied, split(text.substr(equals + 1), '|')};
    if (searched.values.size() < 2)
      throw UsageError(fmt::format("--vary '{}': expected NAME=VALUE|VALUE", text));
    std::erase_if(plan.searched,
                  [&](const SearchedField& each) { return each.field->name == name; });
    plan.searched.push_back(std::move(searched));
  }
  for (const SearchedField& each : plan.searched)
    for (const std::string& value : each.values) {
      Cell probe = plan.pinned;
      each.field->set(probe, value);  // refuses a value that the field does not take
    }
  for (const SearchedField& each : plan.searched) each.field->set(plan.pinned, each.values.back());
  validate(plan.pinned);
  drop_impossible(plan);
  return plan;
}

bool is_searched(const Plan& plan, const std::string& name) {
  return std::any_of(plan.searched.begin(), plan.searched.end(),
                     [&](const SearchedField& each) { return each.field->name == name; });
}

// Whether the two can be run together once a third switch is not off (release, beside any other,
// only with a pipeline).
bool depends_on_third(const Plan& plan, std::size_t a, const std::string& v, std::size_t b,
                      const std::string& w) {
  for (std::size_t c = 0; c < plan.searched.size(); ++c)
    for (const std::string& x : plan.searched[c].values) {
      if (c == a || c == b) continue;
      Cell cell = plan.pinned;
      plan.searched[a].field->set(cell, v);
      plan.searched[b].field->set(cell, w);
      plan.searched[c].field->set(cell, x);
      if (why_impossible(cell).empty()) return true;
    }
  return false;
}

// The pairs of settings that can't be run together; the cell table has no rule about more than two
// toggles.
std::vector<std::string> impossible_pairs(const Plan& plan) {
  std::vector<std::string> pairs;
  for (std::size_t a = 0; a < plan.searched.size(); ++a)
    for (std::size_t b = a + 1; b < plan.searched.size(); ++b)
      for (const std::string& v : plan.searched[a].values)
        for (const std::string& w : plan.searched[b].values)
          if (!is_possible(plan, a, v, b, w) && !depends_on_third(plan, a, v, b, w))
            pairs.push_back(fmt::format("{}={}, {}={}", plan.searched[a].field->name, v,
                                        plan.searched[b].field->name, w));
  return pairs;
}

// Sizes in the order in which they are shrunk, with the least value that makes sense.
void add_sizes(const Plan& plan, CommandSpec& spec) {
  std::vector<const Field*> sizes;
  for (const Field& each : fields())
    if (each.group == Field::Group::kSize || each.name == "fan_out") sizes.push_back(&each);
  for (const Field* each : sizes) {
    std::string current = each->get(plan.pinned);
    std::int64_t minimum = 1;
    for (const SearchedField& searched : plan.searched)
      if (searched.field == each) {
        current = searched.values.front();
        minimum = std::stoll(searched.values.back()) + 1;
      }
    if (std::stoll(current) > minimum)
      spec.sizes.push_back(parse_size(fmt::format("{}={}:{}", each->name, current, minimum)));
  }
}

void add_fixes(const Plan& plan, CommandSpec& spec) {
  const auto add = [&](const Fix& fix, std::string name, const std::string& which,
                       const std::string& value) {
    const auto searched =
        std::find_if(plan.searched.begin(), plan.searched.end(),
                     [&](const SearchedField& each) { return each.field->name == which; });
    CommandFix made{.name = std::move(name),
                    .kind = CommandFix::Kind::kReplace,
                    .where = which,
                    .text = value,
                    .even_when_off = which != "identity" && which != "recompute",
                    .meaning = fix.meaning};
    if (searched == plan.searched.end()) {
      // Not a switch here: a flag of its own, unless the cell has it already. An identity that
      // never skips and a recompute that is never on have nothing to fix.
      if (which == "identity" || which == "recompute") return;
      if (field(which).get(plan.pinned) != field(which).get(Cell{})) return;
      made.kind = CommandFix::Kind::kAppend;
      made.where.clear();
      made.text = fmt::format("{}={}", field(which).flag(), value);
    }
    spec.fixes.push_back(std::move(made));
  };
  for (const Fix& fix : candidate_fixes()) {
    if (!has_fix(plan.pinned.framework, fix)) continue;
    if (fix.settings.empty()) {  // the other recompute kind, which depends on the cell
      for (const char* kind : {"nonreentrant", "reentrant"})
        add(fix, fmt::format("recompute {}", kind), "recompute", kind);
      continue;
    }
    for (const auto& [which, value] : fix.settings) add(fix, fix.name, which, value);
  }
}

}  // namespace

CommandSpec scenario_command(const Scenario& scenario, const ScenarioRequest& request) {
  const Plan plan = make_plan(scenario, request);
  CommandSpec spec;
  add_sizes(plan, spec);
  add_fixes(plan, spec);
  spec.excludes_rules = impossible_pairs(plan);

  std::vector<const Field*> all;
  for (const Field& each : fields()) all.push_back(&each);
  for (const Field& each : scenario.own_toggles) all.push_back(&each);
  spec.command = quote_word(request.program.string());
  for (const Field* each : all) {
    const bool is_size = std::any_of(spec.sizes.begin(), spec.sizes.end(),
                                     [&](const SizeSpec& size) { return size.name == each->name; });
    if (is_searched(plan, each->name) || is_size)
      spec.command += fmt::format(" {}={{{}}}", each->flag(), each->name);
    else if (each->get(plan.pinned) != each->get(Cell{}) || each->name == "blocks")
      spec.command += fmt::format(" {}={}", each->flag(), each->get(plan.pinned));
  }
  for (const SearchedField& each : plan.searched)
    spec.toggles.push_back(fmt::format("{}={}", each.field->name, fmt::join(each.values, "|")));
  spec.stall = kStall;
  // A size that can't be run is refused by the program, and is no failure of the subject.
  spec.unresolved_statuses = {kExitUsage, kExitSetup};
  // Trials run on all cores already: a cell's reference must not start threads of its own.
  spec.environment = {{"OPENBLAS_NUM_THREADS", "1"}};
  return spec;
}

Cell cell_of_trial(const Scenario& scenario, const ScenarioRequest& request,
                   const CommandTarget& target, const Assignment& trial) {
  Cell cell = make_plan(scenario, request).pinned;
  const std::vector<Switch>& switches = target.trial_space().switches;
  const std::size_t num_toggles = target.space().switches.size();
  for (std::size_t i = 0; i < num_toggles; ++i)
    field_of(scenario, switches[i].name).set(cell, switches[i].values[trial.at(i)]);
  for (std::size_t i = 0; i < target.spec().sizes.size(); ++i)
    if (target.size_applies(i, trial)) {
      const SizeSpec& size = target.spec().sizes[i];
      field(size.name).set(cell, std::to_string(size.values[trial[target.size_switch(i)]]));
    }
  return cell;
}

}  // namespace culprit
