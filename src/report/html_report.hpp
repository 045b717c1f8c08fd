// report.html: one self-contained page, and the parts it is put together from. All text of a record
// is escaped here; what the script needs travels as JSON.
#pragma once

#include <string>

#include "report/run_record.hpp"

namespace culprit {

std::string html_report(const RunRecord& record);

// Parts, each a piece of HTML.
// The matrix of job `number` with its legend and the place for a cell's evidence.
std::string html_matrix(const RunRecord& record, std::size_t number);
// The traced cells: timelines, autograd graphs beside their clean twins, first differences of the
// collectives. Empty without traces.
std::string html_traces(const RunRecord& record);
// The autograd graph around the defect of one finding, beside that of its passing neighbour; empty
// without a trace.
std::string html_graph(const JobResult& job, const MinimalFinding& finding);
// <span class="badge">: symbol and word of an outcome.
std::string html_badge(const Outcome& outcome);
// "pass", "fails" or "silent": the class of an outcome in the page.
std::string html_class(const Outcome& outcome);

// The JSON that the page's script reads, fit to stand inside <script>.
std::string html_data(const RunRecord& record);

}  // namespace culprit
