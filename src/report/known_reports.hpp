// Public reports of the same family, compiled in from known_reports.json, and whether a finding has
// the shape of one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace culprit {

// What makes two failures the same bug: which features must meet and what comes of it. Sizes,
// stages and numbers do not count.
struct FailureShape {
  std::set<std::string> features;  // "skip-identity", "pipeline", ...
  std::string outcome;             // ERROR, WRONG_GRAD, ...
  std::string kind;                // of an error
  std::string scenario;            // set: only that model has this shape
  // "pipeline+skip-identity:ERROR:LEAF_INPLACE"
  std::string text() const;
};

struct KnownReport {
  std::string id;
  std::string title;
  std::string url;  // empty: measured, not reported in public
  std::string mechanism;
  std::string clears;
  std::vector<FailureShape> shapes;
};

// Errors: SetupError when the compiled-in catalogue is broken.
const std::vector<KnownReport>& known_reports();

FailureShape shape_of(const RunRecord& record, const JobResult& job, const MinimalFinding& finding);

// Those with the finding's shape, in the catalogue's order.
std::vector<const KnownReport*> reports_like(const FailureShape& shape);

// "same shape as ...: title", one a line; "no known report".
std::vector<std::string> known_in_words(const RunRecord& record, const JobResult& job,
                                        const MinimalFinding& finding);

}  // namespace culprit
