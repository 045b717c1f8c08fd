// How findings are put into words; shared by all writers, so that terminal and files say the same.
#pragma once

#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace culprit {

// "tp 2 x pp 2, 4 micro-batches, CPU threads", or "..., cuda:0"
std::string layout_in_words(const RunRecord& record, const JobResult& job);
// "gradient of embed off by 2.27 x its largest entry, no error"; "LEAF_INPLACE in the recompute of
// micro-batch 0"; "PASS".
std::string outcome_in_words(const Outcome& outcome);
// "both ranks", "rank 0"
std::string ranks_in_words(const JobResult& job, const Place& place);
// "stage 0, both ranks"
std::string place_in_words(const JobResult& job, const Outcome& outcome);
// "each switch alone passes; not needed: ..."
std::string not_needed_in_words(const JobResult& job);
// "fails under Paddle's rule, passes under PyTorch's: a new handle for an input returned as is"; one line for all
// combinations of which it can be said alike, "`LABEL`: ..." where they differ. Empty where nothing was compared.
std::vector<std::string> other_framework_in_words(const JobResult& job);
// PASS, FAIL or SILENT.
std::string verdict_word(const Outcome& outcome);
// One fix at one minimal combination: the effect at one linear, and at two where that differs.
std::string fix_in_words(const MinimalFinding& finding, std::size_t fix);
inline constexpr const char* kClearsAll = "clears all";
// kClearsAll, "clears some", "no effect", ...
std::string fix_summary(const JobResult& job, std::size_t fix);
// What the fix costs beside a new handle (view), as counted during the trials; "-" where it clears
// nothing.
std::string fix_cost(const JobResult& job, std::size_t fix);
// "not in the matrix: recompute: not asked for (--recompute)"; empty when every switch of the
// scenario is in.
std::string left_out_in_words(const JobResult& job);
// The whole verdict in one line: what fails, and what clears it.
std::string verdict_in_words(const JobResult& job);
// A name for the column of a minimal combination: its label.
std::string minimal_label(const JobResult& job, const MinimalFinding& finding);
// The scenario's program, as the folder of a run's programs is shown.
std::string program_of(const RunRecord& record);
// One line for each minimal combination of that job whose back ends were tried, then why others were not; empty: not
// asked for.
std::vector<std::string> triage_in_words(const RunRecord& record, std::size_t job);
// Whether each rank of its cells was a process, started by mpirun.
bool runs_through_mpi(const RunRecord& record);
// The command that repeats one cell.
std::string repeat_command(const RunRecord& record, const Cell& cell);
// "repros/skip_c_identity+residual/repro.py", in the run's folder; the name alone if it was not
// written.
std::string path_of(const FindingReproductions& finding, const Reproduction& file);
// "repro.cpp: shown for 3 of 3", one line a file name; with the reasons of what was not.
std::vector<std::string> reproductions_in_words(const RunRecord& record);
// The words of a command line, quoted for a shell where needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace culprit
