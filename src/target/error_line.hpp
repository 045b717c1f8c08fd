// Finds the line in which a failed program says what went wrong, and takes out what differs from
// run to run, so that equal failures get equal fingerprints.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

// The first line that begins like a raised exception ("ValueError: ..."), in `err`, else in `out`;
// else the first line of `err` that speaks of an error; without a launcher's rank prefix ("[rank0]:
// ", "0: ",
// "[1,0]<stderr>:"). The first, since later ones are what the first one caused. Empty: none.
std::string find_error_line(std::string_view err, std::string_view out);

// Addresses, numbers (times, pids, line numbers) and hexadecimal names become #; absolute paths
// keep their last part, those under temporary folders become <tmp>; control characters become
// visible; at most 160 columns. Kept: short numbers that belong to a word (float16, rank0) or to an
// error code ("error 700").
std::string mask_volatile(std::string_view line);

}  // namespace culprit
