#include "target/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "process/write_all.hpp"
#include "target/journal_line.hpp"

namespace culprit {
namespace {

[[noreturn]] void throw_errno(const std::string& path, const char* what) {
  throw SetupError(fmt::format("journal '{}': {}: {}", path, what, std::strerror(errno)));
}

std::string read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw_errno(path, "cannot open");
  std::string bytes;
  std::string buffer(1 << 20, '\0');
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(path, "cannot read");
    if (got == 0) return bytes;
    bytes.append(buffer, 0, static_cast<std::size_t>(got));
  }
}

void take_line(JournalContent& content, JournalLine&& line,
               std::map<std::uint64_t, Assignment>& running) {
  if (auto* header = std::get_if<HeaderLine>(&line)) {
    content.subject = std::move(header->subject);
    content.origin = std::move(header->origin);
  } else if (auto* start = std::get_if<StartLine>(&line)) {
    content.next_id = std::max(content.next_id, start->id + 1);
    running[start->id] = std::move(start->assignment);
  } else {
    auto& record = std::get<TrialRecord>(line);
    // Ids of trials that are started here are above all that stand before them, whatever the
    // origin.
    content.next_id = std::max(content.next_id, record.id + 1);
    running.erase(record.id);
    content.records.push_back(std::move(record));
  }
}

// What tells the two subjects apart, for the message.
std::string difference(const JournalSubject& a, const JournalSubject& b) {
  if (a.description == b.description) return "the switches, their values or the constraints differ";
  std::string_view left = a.description;
  std::string_view right = b.description;
  while (!left.empty() || !right.empty()) {
    const auto take = [](std::string_view& text) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      return line;
    };
    const std::string_view a_line = take(left);
    const std::string_view b_line = take(right);
    if (a_line != b_line) return fmt::format("it has '{}', expected '{}'", a_line, b_line);
  }
  return "the descriptions differ";
}

// Compared as written, since text that is not UTF-8 does not come back unchanged.
bool is_same(const JournalSubject& a, const JournalSubject& b) {
  return format_header({a, ""}) == format_header({b, ""});
}

std::string unique_origin(const std::string& origin) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    throw SetupError("journal: no random numbers");
  return fmt::format("{}-{:08x}", origin, random & 0xffffffff);
}

}  // namespace

JournalContent read_journal(const std::string& path) {
  const std::string bytes = read_file(path);
  JournalContent content;
  std::map<std::uint64_t, Assignment> running;
  std::size_t number = 0;
  bool has_header = false;
  for (std::size_t begin = 0; begin < bytes.size();) {
    ++number;
    const std::size_t feed = bytes.find('\n', begin);
    const std::size_t end = std::min(feed, bytes.size());
    const bool is_last = feed == std::string::npos || feed + 1 == bytes.size();
    std::optional<JournalLine> line;
    // A line without its line feed was cut, even where what is left is whole JSON.
    if (feed != std::string::npos) try {
        line = parse_journal_line(std::string_view(bytes).substr(begin, end - begin),
                                  has_header ? &content.subject.space : nullptr, content.origin);
      } catch (const UsageError& error) {
        throw UsageError(fmt::format("{}:{}: {}", path, number, error.what()));
      }
    if (!line && !is_last)
      throw UsageError(fmt::format("{}:{}: damaged line in the middle of a journal", path, number));
    if (!line && !has_header && !is_cut_header(std::string_view(bytes).substr(begin)))
      throw UsageError(fmt::format("{}:{}: not a journal of trials", path, number));
    if (!line) {
      content.notices.push_back(
          fmt::format("{}:{}: dropped the last line, which was cut short ({} bytes)", path, number,
                      bytes.size() - begin));
      content.intact_bytes = begin;
      break;
    }
    if (const auto* record = std::get_if<TrialRecord>(&*line);
        record && record->origin == content.origin) {
      const auto started = running.find(record->id);
      if (started != running.end() && started->second != record->assignment)
        throw UsageError(fmt::format(
            "{}:{}: damaged: trial {} ended with another assignment than it was started with", path,
            number, record->id));
    }
    take_line(content, std::move(*line), running);
    has_header = true;
    content.intact_bytes = begin = end + 1;
  }
  for (auto& [id, assignment] : running) content.unfinished.push_back(std::move(assignment));
  return content;
}

Journal Journal::open_new(const std::string& path, int flags, const JournalSubject& subject,
                          const std::string& origin) {
  Journal journal;
  journal.path_ = path;
  journal.fd_ =
      UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, 0666));
  if (!journal.fd_ && errno == EEXIST)
    throw UsageError(fmt::format("journal '{}' exists: resume it, or choose another place", path));
  if (!journal.fd_) throw_errno(path, "cannot create");
  journal.lock();
  journal.begin(subject, origin);
  // The file's name has to be on disk too.
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  const UniqueFd folder_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_fd || ::fsync(folder_fd.get()) != 0) throw_errno(folder, "cannot fsync");
  return journal;
}

Journal Journal::create(const std::string& path, const JournalSubject& subject,
                        const std::string& origin) {
  return open_new(path, O_EXCL, subject, origin);
}

Journal Journal::resume(const std::string& path, const JournalSubject& subject,
                        const std::string& origin) {
  Journal journal;
  journal.path_ = path;
  journal.fd_ = UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!journal.fd_ && errno == ENOENT) return open_new(path, O_EXCL, subject, origin);
  if (!journal.fd_) throw_errno(path, "cannot open");
  journal.lock();
  JournalContent content = read_journal(path);
  if (::ftruncate(journal.fd_.get(), static_cast<off_t>(content.intact_bytes)) != 0)
    throw_errno(path, "cannot truncate");
  if (content.intact_bytes == 0) {
    journal.content_.notices = std::move(content.notices);
    journal.begin(subject, origin);
    return journal;
  }
  if (!is_same(content.subject, subject))
    throw UsageError(fmt::format("journal '{}' is of another search: {}", path,
                                 difference(content.subject, subject)));
  std::vector<TrialRecord> records = std::move(content.records);
  content.records.clear();
  journal.content_ = std::move(content);
  for (TrialRecord& record : records) journal.add(std::move(record));
  // Not the file's: copies of it may go on on several machines, and are merged later.
  journal.origin_ = unique_origin(origin);
  return journal;
}

void Journal::begin(const JournalSubject& subject, const std::string& origin) {
  content_.subject = subject;
  content_.origin = origin_ = unique_origin(origin);
  append(format_header({subject, origin_}));
}

void Journal::lock() const {
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK)
    throw UsageError(fmt::format("journal '{}' is being written by another process", path_));
  throw_errno(path_, "cannot lock");
}

void Journal::append(const std::string& line) {
  if (!write_all(fd_.get(), line)) throw_errno(path_, "cannot write");
  if (::fdatasync(fd_.get()) != 0) throw_errno(path_, "cannot fsync");
}

void Journal::add(TrialRecord record) {
  by_assignment_[record.assignment].push_back(content_.records.size());
  content_.records.push_back(std::move(record));
}

const TrialRecord* Journal::find(const Assignment& assignment, std::size_t repeat) const {
  const auto found = by_assignment_.find(assignment);
  if (found == by_assignment_.end() || repeat >= found->second.size()) return nullptr;
  return &content_.records[found->second[repeat]];
}

std::uint64_t Journal::start(const Assignment& assignment) {
  const std::uint64_t id = content_.next_id++;
  append(format_start({id, assignment}));
  return id;
}

void Journal::finish(std::uint64_t id, const Assignment& assignment, const Trial& trial,
                     double seconds, const std::string& note, const TrialCost& cost) {
  TrialRecord record{id, origin_, assignment, trial, seconds, note, cost};
  append(format_record(record, content_.origin));
  add(std::move(record));
}

std::vector<std::string> merge_journals(std::span<const std::string> paths,
                                        const std::string& out) {
  if (paths.empty()) throw UsageError("merge: no journal given");
  std::vector<std::string> notices;
  std::vector<TrialRecord> records;
  std::set<std::pair<std::string, std::uint64_t>> seen;
  std::optional<JournalSubject> subject;
  for (const std::string& path : paths) {
    JournalContent content = read_journal(path);
    if (content.intact_bytes == 0)
      throw UsageError(fmt::format("'{}' has no header: not a journal", path));
    if (!subject) subject = content.subject;
    if (!is_same(content.subject, *subject))
      throw UsageError(fmt::format("'{}' and '{}' are of different searches: {}", path, paths[0],
                                   difference(content.subject, *subject)));
    for (std::string& notice : content.notices) notices.push_back(std::move(notice));
    for (TrialRecord& record : content.records)
      if (seen.emplace(record.origin, record.id).second) records.push_back(std::move(record));
  }
  const std::string origin = unique_origin("merged");
  std::string text = format_header({*subject, origin});
  for (const TrialRecord& record : records) text += format_record(record, origin);
  const UniqueFd fd(::open(out.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd && errno == EEXIST)
    throw UsageError(fmt::format("'{}' exists: choose another place for the merged journal", out));
  if (!fd) throw_errno(out, "cannot create");
  if (!write_all(fd.get(), text)) throw_errno(out, "cannot write");
  if (::fsync(fd.get()) != 0) throw_errno(out, "cannot fsync");
  return notices;
}

}  // namespace culprit
