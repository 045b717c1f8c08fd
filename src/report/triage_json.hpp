// A triage as JSON, in report.json and in the record of a run (docs/schemas.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "matrix/triage.hpp"

namespace culprit {

nlohmann::ordered_json triage_json(const Triage& triage);
// Of one job. Errors: nlohmann's for what is no list of triages.
std::vector<Triage> triage_from(const nlohmann::ordered_json& list);

}  // namespace culprit
