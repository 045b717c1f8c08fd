// The model's operators as statements of Python or C++.
#pragma once

#include <string>

#include "repro_files/repro_plan.hpp"

namespace culprit {

enum class Language { kPython, kCpp };

struct ProgramText {
  std::string blocks;   // a function for each different block
  std::string forward;  // the function that runs a stage
  // C++: the first line where a block captures a tensor that its stage sends; empty if none does.
  std::string capturing_line;
  std::string capturing_line_of_a_view;  // the same with a handle of its own
};

ProgramText program_text(const ReproPlan& plan, Language language);

}  // namespace culprit
