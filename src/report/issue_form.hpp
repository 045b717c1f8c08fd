// form_NAME.md: a run's answers under the fields of a project's issue form.
#pragma once

#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace culprit {

// "paddle", "megatron", "pytorch", "deepspeed"
const std::vector<std::string>& issue_form_names();

// The fields of that form with what this run can say under each, a link that opens it filled in as
// far as the length of an address allows (8,000 characters), and what only the reporter can still
// add. Errors: UsageError for an unknown name.
std::string issue_form(const RunRecord& record, const std::string& name);

}  // namespace culprit
