#include "app/cell_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <functional>
#include <system_error>

#include "base/error.hpp"
#include "process/standard_streams.hpp"
#include "terminal/escape.hpp"
#include "terminal/suggest.hpp"

namespace culprit {

namespace {

// What may follow "=" behind a flag without a value of its own; CLI11 takes any number, sign and
// word.
CLI::Validator on_or_off() {
  return {[](const std::string& text) {
            const bool is_bit = text == "1" || text == "0" || text == "true" || text == "false";
            return is_bit ? std::string() : fmt::format("got '{}', expected 0 or 1", text);
          },
          ""};
}

}  // namespace

struct CellFlags::Impl {
  struct Slot {
    const Field* field;
    std::string value;
    bool on = false;
    CLI::Option* option = nullptr;
  };
  std::vector<std::unique_ptr<Slot>> slots;
  bool skip = false;
  CLI::Option* skip_option = nullptr;
};

CellFlags::CellFlags(CLI::App& app, const std::vector<Field>& own)
    : impl_(std::make_unique<Impl>()) {
  std::vector<const Field*> rows;
  for (const Field& row : fields()) rows.push_back(&row);
  for (const Field& row : own) rows.push_back(&row);
  for (const Field* each : rows) {
    const Field& row = *each;
    auto slot = std::make_unique<Impl::Slot>();
    slot->field = &row;
    const std::string group = row.group == Field::Group::kSize ? "Sizes" : "Toggles";
    static const Cell defaults;
    const std::string shown = row.name == "blocks"
                                  ? row.help
                                  : fmt::format("{} (default {})", row.help, row.get(defaults));
    if (row.form == Field::Form::kSwitch) {
      const std::string bare = row.flag().substr(2);
      slot->option = app.add_flag(fmt::format("--{},!--no-{}", bare, bare), slot->on, shown)
                         ->check(on_or_off());
    } else {
      slot->option = app.add_option(row.flag(), slot->value, shown);
      if (row.name == "recompute") slot->option->expected(0, 1)->default_str("");
      slot->option->type_name(
          row.form == Field::Form::kChoice ? fmt::format("{}", fmt::join(row.values, "|")) : "N");
    }
    slot->option->group(group);
    impl_->slots.push_back(std::move(slot));
    if (row.name == "identity")
      impl_->skip_option =
          app.add_flag("--skip-c-identity", impl_->skip, "the same as --identity=skip")
              ->check(on_or_off())
              ->group("Toggles");
  }
}
CellFlags::~CellFlags() = default;

CLI::Validator not_empty() {
  return {
      [](const std::string& text) { return std::string(text.empty() ? "got an empty value" : ""); },
      ""};
}

CLI::Validator seconds_between(double low, double high) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            return is_number && value >= low && value <= high
                       ? std::string()
                       : fmt::format("got {}, expected a number of seconds from {} to {}", text,
                                     low, high);
          },
          ""};
}

Settings CellFlags::given() const {
  Settings settings;
  for (const auto& slot : impl_->slots) {
    std::string value = slot->value;
    if (slot->field->form == Field::Form::kSwitch) value = slot->on ? "1" : "0";
    if (slot->field->name == "recompute" && value.empty()) value = "reentrant";
    bool was_given = slot->option->count() > 0;
    if (slot->field->name == "identity" && impl_->skip_option->count() > 0) {
      const std::string said = impl_->skip ? "skip" : "copy";
      if (was_given && value != said)
        throw UsageError(fmt::format("--skip-c-identity contradicts --identity={}", value));
      value = said;
      was_given = true;
    }
    if (was_given) settings.emplace_back(slot->field->name, value);
  }
  return settings;
}

namespace {

std::vector<std::string> valid_flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
    for (const auto& name : option->get_fnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::string unknown(const CLI::App& used, const std::string& extra) {
  const std::string name = extra.substr(0, extra.find('='));
  const auto commands = used.get_subcommands(nullptr);
  const bool is_flag = name.starts_with('-');
  std::vector<std::string> valid = valid_flags(used);
  if (!is_flag && !commands.empty()) {
    valid.clear();
    for (const auto* command : commands) valid.push_back(command->get_name());
  }
  return fmt::format("unknown {} '{}'{}",
                     is_flag            ? "flag"
                     : commands.empty() ? "argument"
                                        : "command",
                     escape_controls(extra), did_you_mean(name, valid));
}

// CLI11's words for a wrong number of values leave open what was wrong.
std::string wrong_number_of_values(const CLI::App& used, const std::string& message) {
  for (const auto* option : used.get_options())
    if (message.starts_with(option->get_name() + ":") && option->get_items_expected_max() == 1 &&
        option->results().size() > 1)
      return fmt::format("{}: given {} times, expected once", option->get_name(),
                         option->results().size());
  const auto required = message.find(": 1 required ");
  const auto missing = message.rfind(" missing");
  if (required == std::string::npos || missing == std::string::npos) return message;
  const auto type = required + std::string_view(": 1 required ").size();
  return fmt::format("{}: got no value, expected {}", message.substr(0, required),
                     message.substr(type, missing - type));
}

}  // namespace

int parse_or_report(CLI::App& app, int argc, char** argv) {
  open_missing_standard_streams();
  try {
    app.parse(argc, argv);
    return -1;
  } catch (const CLI::Success& success) {
    return guarded(app.get_name(), [&] { return app.exit(success); });
  } catch (const CLI::ParseError& error) {
    const CLI::App* used = &app;
    for (const auto* sub : app.get_subcommands()) used = sub;
    std::string message = error.what();
    if (error.get_name() == "ArgumentMismatch") message = wrong_number_of_values(*used, message);
    if (const auto extras = used->remaining(); !extras.empty())
      message = unknown(*used, extras.front());
    const std::string name =
        used == &app ? app.get_name() : app.get_name() + " " + used->get_name();
    print_error(fmt::format("{}: {}\n(--help lists all flags)\n", name, message));
    return kExitUsage;
  }
}

int guarded(const std::string& program, const std::function<int()>& body) {
  try {
    const int status = body();
    flush_standard_output();
    return status;
  } catch (const std::system_error&
               error) {  // a write to a full disk or a closed descriptor, among others
    print_error(fmt::format("{}: {}\n", program, escape_controls(error.what())));
    return kExitSetup;
  } catch (const Error& error) {
    print_error(fmt::format("{}: {}\n", program, escape_controls_keep_lines(error.what())));
    return error.exit_status();
  } catch (const std::exception& error) {
    print_error(fmt::format("{}: broken: {}; please report this\n", program,
                            escape_controls(error.what())));
    return kExitSetup;
  }
}

}  // namespace culprit
