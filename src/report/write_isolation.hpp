// Stage entry: writes the files of an isolation.
#pragma once

#include <filesystem>

#include "report/isolation_record.hpp"
#include "report/redact.hpp"

namespace culprit {

// report.md and report.json in `folder`, which exists, each whole or not at all; an earlier one is
// replaced. Errors: SetupError.
void write_isolation(const IsolationRecord& record, const std::filesystem::path& folder,
                     Redactor& redactor);

}  // namespace culprit
