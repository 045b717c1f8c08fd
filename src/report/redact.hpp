// What is private, masked in text that goes into files: home folders, user and host names,
// addresses, UUIDs, e-mail, credentials. Errs on the side of masking.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_record.hpp"

namespace culprit {

class Redactor {
 public:
  // Names to mask beside what is recognised by its form; empty: none.
  struct Own {
    std::string home;  // "/home/ada"
    std::string user;
    std::string host;
  };
  explicit Redactor(Own own);
  // Masks nothing.
  static Redactor off();
  // The home folder and names of whoever runs this process.
  static Redactor for_this_machine();

  // Masked already stays as it is. Own home folder: "~"; all else "<kind>".
  std::string text(std::string_view raw);
  void mask(std::string& raw) { raw = text(raw); }
  void mask(std::vector<std::string>& list);
  // Messages of an outcome.
  void mask(Outcome& outcome);

  bool is_off() const { return is_off_; }
  // "2 home folders, 1 host name"; empty when nothing was masked.
  std::string summary() const;

 private:
  std::string count(const char* kind, const char* placeholder);
  std::size_t match_secret(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_form(std::string_view text, std::size_t at, std::string& out);
  std::size_t match_name(std::string_view text, std::size_t at, std::string& out);

  Own own_;
  bool is_off_ = false;
  std::map<std::string, std::size_t> counts_;
};

// The record with every text from outside masked: command, environment, launch script, messages,
// folders.
RunRecord redacted(RunRecord record, Redactor& redactor);

// Environment variables that a report shows, by name; no other is ever read into a record.
const std::vector<std::string>& shown_variables();

}  // namespace culprit
