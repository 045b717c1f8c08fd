// stdin, stdout and stderr as a program can rely on them.
#pragma once

#include <string>

namespace culprit {

// Opens /dev/null in the place of each of the three that is closed, so that no file opened later
// gets its number and is written to by mistake. To be called first in main.
void open_missing_standard_streams();

// Writes to stderr. Never fails: whoever closed it does not want to know, and an error's exit
// status must still be given.
void print_error(const std::string& text) noexcept;

// Errors: SetupError when what was printed to stdout could not be written (a full disk, a closed
// pipe).
void flush_standard_output();

}  // namespace culprit
