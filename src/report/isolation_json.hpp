// report.json of `culprit isolate` (schema: docs/schemas.md).
#pragma once

#include <string>

#include "report/isolation_record.hpp"
#include "report/redact.hpp"

namespace culprit {

inline constexpr int kIsolationSchema = 1;

std::string isolation_json(const IsolationRecord& record, Redactor& redactor);

}  // namespace culprit
