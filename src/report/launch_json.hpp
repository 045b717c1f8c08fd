// What was read from a launch script, as JSON: the same object in report.json and run.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/run_record.hpp"

namespace culprit {

nlohmann::ordered_json launch_json(const LaunchNotes& launch);
// Errors: nlohmann's exception for a field that is missing or of another type.
LaunchNotes launch_from(const nlohmann::ordered_json& object);

}  // namespace culprit
