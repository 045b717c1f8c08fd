// What all three files of one cell are made from.
#pragma once

#include <string>
#include <vector>

#include "engine/model_program.hpp"
#include "engine/parameter.hpp"
#include "repro_files/repro_files.hpp"
#include "repro_files/text_block.hpp"

namespace culprit {

struct ReproPlan {
  Cell cell;
  int tp = 1;  // ranks that talk to each other: 1 where no operator of the model does
  ModelProgram program;
  std::vector<ParameterSpec> parameters;
  Traits traits;
  TextValues values;
  std::string outcome_words;  // "ERROR LEAF_INPLACE"
  int exit_status = 0;
};

// Errors: UsageError for PASS.
ReproPlan make_plan(const ReproRequest& request);

// Why no file at all can show this outcome; empty if one can.
std::string why_inexpressible(const ReproPlan& plan, const Outcome& outcome);

// The number that, with the element's index, makes a parameter's values (engine/parameter.hpp).
int value_number(ValueKind kind, int block, int term);
// sqrt(8 / rows) where the parameter's values are multiplied by it, else 1.
double value_gain(const ParameterSpec& spec);

// Words as comment lines of at most 100 columns, each beginning with `prefix`.
std::string comment(const std::string& prefix, const std::string& words);

ReproResult python_repro(const ReproPlan& plan);
ReproResult cpp_repro(const ReproPlan& plan);
ReproResult cpp_test(const ReproPlan& plan);

}  // namespace culprit
