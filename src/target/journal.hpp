// The record of all trials of a search, on disk before and after each one runs, so that a search
// that was killed goes on without repeating what it finished. JSON lines; docs/commands.md has the
// schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isolate/space.hpp"
#include "process/unique_fd.hpp"
#include "target/outcome_line.hpp"

namespace culprit {

// What a journal is about. Only journals with equal space and description can be continued or
// merged.
struct JournalSubject {
  Space space;
  std::string description;  // CommandTarget::description()
};

// One finished trial.
struct TrialRecord {
  std::uint64_t id = 0;  // unique within its origin
  std::string origin;    // the process that ran it: a name and a random part
  Assignment assignment;
  Trial trial;
  double seconds = 0;  // wall time of the process
  std::string note;    // how it ended, for people
  TrialCost cost;      // empty where the program stated none
};

// A journal as read from a file, without lock or change.
struct JournalContent {
  JournalSubject subject;
  std::string origin;                  // of the process that began it
  std::vector<TrialRecord> records;    // finished trials, in the file's order
  std::vector<Assignment> unfinished;  // started, but not finished
  std::uint64_t next_id = 0;
  std::uint64_t intact_bytes = 0;    // where a damaged last line begins; else the file's size
  std::vector<std::string> notices;  // what was dropped, with file and line
};

// SetupError when the file can't be read; UsageError naming file:line for anything damaged but the
// last line (which a crash may have cut, and which is dropped with a notice), or when it is no
// journal.
JournalContent read_journal(const std::string& path);

class Journal {
 public:
  // A new journal. `origin` names this machine; a random part is added, so that each process that
  // writes trials has an origin of its own. UsageError when the path exists, SetupError when it
  // can't be written.
  static Journal create(const std::string& path, const JournalSubject& subject,
                        const std::string& origin);
  // Continues one, after dropping a damaged last line; makes a new one when the file is not there
  // or has no intact header. UsageError: another subject (saying what differs), damage (see
  // read_journal), or another process writes it.
  static Journal resume(const std::string& path, const JournalSubject& subject,
                        const std::string& origin);

  // The finished trials: first those of the file, then those added.
  const std::vector<TrialRecord>& records() const { return content_.records; }
  const std::vector<std::string>& notices() const { return content_.notices; }
  const std::string& path() const { return path_; }

  // The result of the repeat-th finished trial of an assignment, from 0; null when it was not run
  // yet.
  const TrialRecord* find(const Assignment& assignment, std::size_t repeat) const;

  // Each is on disk (fsync) when it returns. SetupError when it can't be written. Not thread-safe.
  std::uint64_t start(const Assignment& assignment);  // returns the trial's id
  void finish(std::uint64_t id, const Assignment& assignment, const Trial& trial, double seconds,
              const std::string& note, const TrialCost& cost = {});

 private:
  Journal() = default;
  static Journal open_new(const std::string& path, int flags, const JournalSubject& subject,
                          const std::string& origin);
  void begin(const JournalSubject& subject, const std::string& origin);
  void lock() const;
  void append(const std::string& line);
  void add(TrialRecord record);

  std::string path_;
  UniqueFd fd_;
  std::string origin_;  // of the trials that are added
  JournalContent content_;
  std::map<Assignment, std::vector<std::size_t>> by_assignment_;  // positions in content_.records
};

// All finished trials of several journals, each with its origin, as one new journal at `out` that
// can be continued or read. A trial that stands in several of them (the same origin and id) counts
// once. Returns the notices. UsageError: fewer than one path, different subjects (naming both
// files), `out` exists.
std::vector<std::string> merge_journals(std::span<const std::string> paths, const std::string& out);

}  // namespace culprit
