// Outcomes and exit statuses, one table (docs/exit_statuses.md).
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace culprit {

enum class OutcomeClass {
  kPass,
  kError,
  kWrongGrad,
  kMissingGrad,
  kWrongLoss,
  kHang,
  kLeak,
  kCrash,
  kWrongState,
};

struct OutcomeRow {
  OutcomeClass outcome;
  std::string_view name;
  int exit_status;
  bool silent;  // nothing is raised: worse than an error
  std::string_view meaning;
};

inline constexpr std::array<OutcomeRow, 9> kOutcomes{{
    {OutcomeClass::kPass, "PASS", 0, false, "gradients and loss agree with the one-rank reference"},
    {OutcomeClass::kError, "ERROR", 10, false, "a rank raised the framework's error"},
    {OutcomeClass::kWrongGrad, "WRONG_GRAD", 11, true, "a gradient deviates, no error"},
    {OutcomeClass::kMissingGrad, "MISSING_GRAD", 12, true, "a trainable parameter got no gradient, no error"},
    {OutcomeClass::kWrongLoss, "WRONG_LOSS", 13, true, "the loss deviates, no error"},
    {OutcomeClass::kHang, "HANG", 14, false, "ranks wait for what can never come"},
    {OutcomeClass::kLeak, "LEAK", 15, true, "more bytes are held than the scenario allows"},
    {OutcomeClass::kCrash, "CRASH", 16, false, "the framework's process would die of a signal"},
    {OutcomeClass::kWrongState, "WRONG_STATE", 17, true, "a counter or other state deviates, no error"},
}};

inline const OutcomeRow& row_of(OutcomeClass outcome) {
  for (const auto& row : kOutcomes)
    if (row.outcome == outcome) return row;
  return kOutcomes[0];
}
inline std::optional<OutcomeClass> outcome_named(std::string_view name) {
  for (const auto& row : kOutcomes)
    if (row.name == name) return row.outcome;
  return std::nullopt;
}
inline std::optional<OutcomeClass> outcome_of_exit(int exit_status) {
  for (const auto& row : kOutcomes)
    if (row.exit_status == exit_status) return row.outcome;
  return std::nullopt;
}

// Exit statuses of the programs besides those of the outcomes.
inline constexpr int kExitUnexpected = 1;    // not as declared, or not as --expect said
inline constexpr int kExitUsage = 2;
inline constexpr int kExitSetup = 3;
inline constexpr int kExitUnavailable = 77;

}  // namespace culprit
