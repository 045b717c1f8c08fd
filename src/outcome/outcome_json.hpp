// An outcome as one line of JSON (docs/schemas.md): what a scenario program prints and the driver reads.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "config/cell.hpp"
#include "outcome/outcome.hpp"

namespace culprit {

// The object of such a line, for a document that holds it.
nlohmann::ordered_json outcome_json(const std::string& scenario, const Cell& cell, const Outcome& outcome);

// One line without a newline; text from outside is escaped.
std::string to_json_line(const std::string& scenario, const Cell& cell, const Outcome& outcome);

// The outcome of such a line. Errors: SetupError naming what is wrong with the line.
Outcome parse_json_line(std::string_view line);

// The scenario of such a line, and its cell's sizes and toggles. Errors: as parse_json_line.
std::string scenario_of_json_line(std::string_view line);
std::vector<std::pair<std::string, std::string>> settings_of_json_line(std::string_view line);

}  // namespace culprit
