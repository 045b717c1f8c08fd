// Text from outside (a program's output, a file, a flag) made safe to show on a terminal, and
// measured.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

// What could move the cursor, change colours, retitle the window or reorder the line becomes
// visible: control characters, DEL and bytes that are not UTF-8 as \xNN (\t, \r and \n as these),
// the C1 and the bidirectional controls and line separators as \u{NNNN}. A backslash stays as it
// is.
std::string escape_controls(std::string_view text);
// The same, but line feeds stay, for texts of several lines.
std::string escape_controls_keep_lines(std::string_view text);

// Columns that escaped text takes: East Asian wide characters and emoji 2, combining marks 0,
// others 1.
int display_width(std::string_view text);

// The longest beginning of escaped text that takes at most `columns`; where it had to cut and there
// are at least 4 columns, it ends in "...".
std::string cut_to_width(std::string_view text, int columns);

}  // namespace culprit
