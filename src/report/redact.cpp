#include "report/redact.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstdlib>

#include "base/ascii.hpp"

namespace culprit {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_token(char c) { return is_word(c) || c == '-' || c == '+' || c == '='; }

template <class Predicate>
std::size_t run_length(std::string_view text, std::size_t at, Predicate holds) {
  std::size_t end = at;
  while (end < text.size() && holds(text[end])) ++end;
  return end - at;
}

// Whether a match of `length` at `at` begins and ends where words do.
bool stands_alone(std::string_view text, std::size_t at, std::size_t length) {
  const bool before = at == 0 || !is_word(text[at - 1]);
  return before && (at + length >= text.size() || !is_word(text[at + length]));
}

// Lower case, for names.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Account names that say nothing about a person.
bool is_generic(const std::string& name) {
  static constexpr std::array<std::string_view, 16> kGeneric{
      "root",   "user",   "users", "admin",  "ubuntu", "debian", "test", "build",
      "runner", "nobody", "home",  "docker", "worker", "node",   "host", "localhost"};
  return name.size() < 3 ||
         std::find(kGeneric.begin(), kGeneric.end(), lower(name)) != kGeneric.end();
}

// 8-4-4-4-12 hex digits.
std::size_t uuid_length(std::string_view text, std::size_t at) {
  std::size_t place = at;
  for (const std::size_t group : {8, 4, 4, 4, 12}) {
    if (group != 8) {
      if (place >= text.size() || text[place] != '-') return 0;
      ++place;
    }
    if (run_length(text, place, is_hex) != group) return 0;
    place += group;
  }
  return place - at;
}

std::size_t mac_length(std::string_view text, std::size_t at) {
  constexpr std::size_t kLength = 17;
  if (text.size() < at + kLength) return 0;
  for (std::size_t i = 0; i < kLength; ++i) {
    const char c = text[at + i];
    if (i % 3 == 2 ? (c != ':' && c != '-') || c != text[at + 2] : !is_hex(c)) return 0;
  }
  return kLength;
}

// An IPv4 or IPv6 address as the system's own parser takes it. The loopback and "any" addresses are
// nobody's.
std::size_t address_length(std::string_view text, std::size_t at) {
  const auto of_address = [](char c) { return is_hex(c) || c == ':' || c == '.'; };
  std::size_t length = run_length(text, at, of_address);
  while (length > 0 && text[at + length - 1] == '.') --length;
  // A port or a colon of the sentence behind it may follow.
  for (; length >= 3; --length) {
    const std::string candidate(text.substr(at, length));
    unsigned char bytes[sizeof(in6_addr)];
    const bool is_v4 = inet_pton(AF_INET, candidate.c_str(), bytes) == 1;
    const bool is_v6 = !is_v4 && inet_pton(AF_INET6, candidate.c_str(), bytes) == 1 &&
                       std::any_of(candidate.begin(), candidate.end(), is_digit) &&
                       candidate.size() > 3;
    if (is_v4 || is_v6) return candidate.starts_with("127.") || candidate == "0.0.0.0" ? 0 : length;
    const auto colon = candidate.rfind(':');
    if (colon == std::string::npos || colon == 0) return 0;
    length = colon + 1;
  }
  return 0;
}

// name@host.tld; the last label must be letters, so that paddle@3.3.1 and embed@stage0.tp0 stay.
std::size_t email_length(std::string_view text, std::size_t at) {
  const std::size_t local = run_length(
      text, at, [](char c) { return is_word(c) || c == '.' || c == '+' || c == '-' || c == '%'; });
  if (local == 0 || at + local >= text.size() || text[at + local] != '@') return 0;
  const std::size_t domain_at = at + local + 1;
  std::size_t domain =
      run_length(text, domain_at, [](char c) { return is_word(c) || c == '.' || c == '-'; });
  while (domain > 0 && text[domain_at + domain - 1] == '.') --domain;
  const std::string_view host = text.substr(domain_at, domain);
  const auto dot = host.rfind('.');
  if (dot == std::string_view::npos || host.size() - dot < 3) return 0;
  const std::string_view top = host.substr(dot + 1);
  if (!std::all_of(top.begin(), top.end(),
                   [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }))
    return 0;
  return local + 1 + domain;
}

// A credential by its publisher's prefix, or a long string that only a machine makes.
std::size_t token_length(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 18> kPrefixes{
      "ghp_",  "gho_",  "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-",
      "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza", "pypi-",       "npm_",   "eyJ", "wandb_"};
  const std::size_t length = run_length(text, at, is_token);
  const std::string_view word = text.substr(at, length);
  for (const std::string_view prefix : kPrefixes)
    if (word.starts_with(prefix) && length >= prefix.size() + 16)
      return run_length(text, at, [](char c) { return is_token(c) || c == '.'; });
  if (length >= 32 && std::all_of(word.begin(), word.end(), is_hex)) return length;
  const auto many = [&](auto predicate) {
    return std::count_if(word.begin(), word.end(), predicate) >= 3;
  };
  const bool is_mixed = many([](char c) { return c >= 'a' && c <= 'z'; }) &&
                        many([](char c) { return c >= 'A' && c <= 'Z'; }) && many(is_digit);
  return length >= 32 && is_mixed && word.find('_') == std::string_view::npos &&
                 word.find("--") == std::string_view::npos
             ? length
             : 0;
}

// Whether a flag or variable of that name holds a secret: its last part says so.
bool names_secret(std::string_view name) {
  const std::string low = lower(name);
  if (low == "pwd") return false;  // the shell's folder
  for (const std::string_view last :
       {"token", "secret", "pwd", "auth", "authorization", "credential", "credentials", "apikey"})
    if (low.ends_with(last) &&
        (low.size() == last.size() ||
         !std::isalnum(static_cast<unsigned char>(low[low.size() - last.size() - 1]))))
      return true;
  // PGPASSWORD is one word.
  for (const std::string_view last : {"password", "passwd", "passphrase"})
    if (low.ends_with(last)) return true;
  for (const std::string_view last :
       {"api-key", "api_key", "access-key", "access_key", "secret-key", "secret_key", "private-key",
        "private_key", "access_key_id"})
    if (low.ends_with(last)) return true;
  return false;
}

// The value of a setting at `at`, as a shell or a config file writes it: quoted, then to the same
// quote, else one word.
std::size_t value_length(std::string_view text, std::size_t at) {
  std::size_t open = at;
  if (open < text.size() && text[open] == '\\') ++open;  // quotes within quotes
  if (open < text.size() && (text[open] == '"' || text[open] == '\'')) {
    const char quote = text[open];
    for (std::size_t end = open + 1; end < text.size() && text[end] != '\n'; ++end)
      if (text[end] == quote) return end + 1 - at;
    return run_length(text, at, [](char c) { return c != '\n'; });  // cut before it ended
  }
  return run_length(text, at, [](char c) {
    return c != ' ' && c != '\n' && c != '\'' && c != '"' && c != ')';
  });
}

}  // namespace

Redactor::Redactor(Own own) : own_(std::move(own)) {
  while (own_.home.size() > 1 && own_.home.back() == '/') own_.home.pop_back();
  if (own_.home.size() < 2) own_.home.clear();
  if (is_generic(own_.user)) own_.user.clear();
  const auto dot = own_.host.find('.');
  if (is_generic(own_.host.substr(0, dot))) own_.host.clear();
}

Redactor Redactor::off() {
  Redactor redactor{Own{}};
  redactor.is_off_ = true;
  return redactor;
}

Redactor Redactor::for_this_machine() {
  Own own;
  if (const passwd* entry = ::getpwuid(::getuid())) {
    own.user = entry->pw_name;
    own.home = entry->pw_dir;
  }
  if (const char* home = std::getenv("HOME"); home && *home) own.home = home;
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, sizeof host - 1) == 0) own.host = host;
  return Redactor(own);
}

std::string Redactor::count(const char* kind, const char* placeholder) {
  ++counts_[kind];
  return placeholder;
}

// "NAME=VALUE" and "--name VALUE" where the name says that the value is a secret: the value goes.
std::size_t Redactor::match_secret(std::string_view text, std::size_t at, std::string& out) {
  const std::size_t name = run_length(text, at, [](char c) { return is_word(c) || c == '-'; });
  if (name < 3 || !names_secret(text.substr(at, name))) return 0;
  std::size_t value_at = at + name;
  const bool is_flag = text[at] == '-';
  if (value_at >= text.size() ||
      (text[value_at] != '=' && text[value_at] != ':' && !(is_flag && text[value_at] == ' ')))
    return 0;
  ++value_at;
  while (value_at < text.size() && text[value_at] == ' ') ++value_at;
  const std::size_t value = value_length(text, value_at);
  if (value == 0 || text[value_at] == '<' || text[value_at] == '-') return 0;
  out = std::string(text.substr(at, value_at - at)) + count("credential", "<secret>");
  return value_at + value - at;
}

std::size_t Redactor::match_form(std::string_view text, std::size_t at, std::string& out) {
  struct Form {
    std::size_t (*length)(std::string_view, std::size_t);
    const char* kind;
    const char* placeholder;
  };
  static constexpr Form kForms[] = {{uuid_length, "UUID", "<uuid>"},
                                    {mac_length, "hardware address", "<mac>"},
                                    {email_length, "e-mail address", "<email>"},
                                    {address_length, "network address", "<address>"},
                                    {token_length, "credential", "<secret>"}};
  for (const Form& form : kForms) {
    const std::size_t length = form.length(text, at);
    if (length == 0 || !stands_alone(text, at, length)) continue;
    out = count(form.kind, form.placeholder);
    return length;
  }
  return 0;
}

std::size_t Redactor::match_name(std::string_view text, std::size_t at, std::string& out) {
  const auto is = [&](const std::string& name) {
    return !name.empty() && text.substr(at).starts_with(name) &&
           stands_alone(text, at, name.size());
  };
  if (is(own_.home)) {
    out = count("home folder", "~");
    return own_.home.size();
  }
  for (const std::string_view folder : {"/home/", "/Users/"}) {
    if (!text.substr(at).starts_with(folder)) continue;
    const std::size_t name = run_length(text, at + folder.size(),
                                        [](char c) { return is_word(c) || c == '.' || c == '-'; });
    if (name == 0) continue;
    out = std::string(folder) + count("home folder", "<user>");
    return folder.size() + name;
  }
  if (is(own_.user)) {
    out = count("user name", "<user>");
    return own_.user.size();
  }
  if (is(own_.host)) {
    out = count("host name", "<host>");
    return own_.host.size();
  }
  // https://name:password@host
  if (text.substr(at).starts_with("://")) {
    const std::size_t length = run_length(
        text, at + 3, [](char c) { return c != '/' && c != ' ' && c != '@' && c != '\n'; });
    const std::size_t end = at + 3 + length;
    if (length > 0 && end < text.size() && text[end] == '@' && text[at + 3] != '<') {
      out = "://" + count("credential", "<secret>");
      return 3 + length;
    }
  }
  return 0;
}

std::string Redactor::text(std::string_view raw) {
  if (is_off_) return std::string(raw);
  std::string result;
  result.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    std::string replacement;
    const bool begins_word = at == 0 || !is_word(raw[at - 1]);
    std::size_t length = match_name(raw, at, replacement);
    if (length == 0 && begins_word && (at == 0 || raw[at - 1] != '-'))
      length = match_secret(raw, at, replacement);
    if (length == 0 && begins_word) length = match_form(raw, at, replacement);
    if (length == 0) {
      result += raw[at++];
      continue;
    }
    result += replacement;
    at += length;
  }
  return result;
}

void Redactor::mask(std::vector<std::string>& list) {
  for (std::string& each : list) mask(each);
}

void Redactor::mask(Outcome& outcome) { mask(outcome.message); }

std::string Redactor::summary() const {
  std::string words;
  for (const auto& [kind, number] : counts_) {
    const std::string many = kind.ends_with('s') ? kind + "es" : kind + "s";
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", number, number == 1 ? kind : many);
  }
  return words;
}

RunRecord redacted(RunRecord record, Redactor& redactor) {
  for (std::size_t i = 1; i < record.command.size(); ++i) {
    // The value of "--token VALUE" is a word of its own.
    if (record.command[i - 1].starts_with("--") && !record.command[i].starts_with('-')) {
      const std::string pair = redactor.text(record.command[i - 1] + " " + record.command[i]);
      record.command[i] = pair.substr(std::min(pair.size(), record.command[i - 1].size() + 1));
    } else {
      redactor.mask(record.command[i]);
    }
  }
  if (!record.command.empty()) redactor.mask(record.command[0]);
  for (auto& [name, value] : record.environment) redactor.mask(value);
  redactor.mask(record.bin_folder);
  redactor.mask(record.launch.file);
  redactor.mask(record.launch.modelled);
  redactor.mask(record.launch.not_modelled);
  redactor.mask(record.launch.unknown);
  for (auto& of_job : record.triage)
    for (Triage& triage : of_job)
      for (TriageRow& row : triage.rows) redactor.mask(row.absent);
  for (FindingReproductions& finding : record.reproductions)
    for (Reproduction& file : finding.files) {
      redactor.mask(file.words);
      redactor.mask(file.text);
    }
  for (JobResult& job : record.jobs) {
    for (Outcome& outcome : job.outcomes) redactor.mask(outcome);
    for (MinimalFinding& finding : job.minimal) {
      for (Outcome* outcome :
           {&finding.two_linears, &finding.one_micro_batch, &finding.smallest.outcome})
        redactor.mask(*outcome);
      for (auto& trials : finding.fixes)
        for (FixTrial& trial : trials) redactor.mask(trial.outcome);
      for (CellTrace* trace : {&finding.trace, &finding.neighbour_trace})
        for (RankTrace& rank : trace->ranks) redactor.mask(rank.error_message);
    }
  }
  return record;
}

const std::vector<std::string>& shown_variables() {
  static const std::vector<std::string> names{"CI",
                                              "CUDA_LAUNCH_BLOCKING",
                                              "CUDA_VISIBLE_DEVICES",
                                              "LANG",
                                              "NO_COLOR",
                                              "OMP_NUM_THREADS",
                                              "OPENBLAS_NUM_THREADS",
                                              "MKL_NUM_THREADS",
                                              "FLAGS_cudnn_deterministic",
                                              "NVIDIA_TF32_OVERRIDE"};
  return names;
}

}  // namespace culprit
