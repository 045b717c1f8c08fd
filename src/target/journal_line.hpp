// The lines of a journal as JSON. Used by journal.cpp only, to keep the JSON library out of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "target/journal.hpp"

namespace culprit {

struct HeaderLine {
  JournalSubject subject;
  std::string origin;
};
struct StartLine {
  std::uint64_t id = 0;
  Assignment assignment;
};
using JournalLine = std::variant<HeaderLine, StartLine, TrialRecord>;

// Each ends in a line feed. Bytes that are not UTF-8 become U+FFFD.
std::string format_header(const HeaderLine& header);
std::string format_start(const StartLine& start);
// Without `journal_origin` in the line where the record's origin is that one.
std::string format_record(const TrialRecord& record, const std::string& journal_origin);

// Whether it may be what is left of a header: its beginning, or zeros, as a file system leaves them
// after a crash.
bool is_cut_header(std::string_view text);

// nullopt: not JSON (a line that was cut, or damage). UsageError: JSON, but not a line of a
// journal, or of a schema that is not known, or (after the header) not of `space`.
std::optional<JournalLine> parse_journal_line(std::string_view line, const Space* space,
                                              const std::string& journal_origin);

}  // namespace culprit
