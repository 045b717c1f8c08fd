// Where the scenario programs are: beside this program.
#pragma once

#include <filesystem>

namespace culprit {

// As a path from the working directory, for commands that are shown and run; absolute where there
// is none.
std::filesystem::path shown_program_folder();

}  // namespace culprit
