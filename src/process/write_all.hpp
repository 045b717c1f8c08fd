// A whole text through a descriptor.
#pragma once

#include <string_view>

namespace culprit {

// Writes all of `text`, however many calls it takes; goes on after a signal. False when it could
// not, with the reason in errno; a part may have been written then.
bool write_all(int fd, std::string_view text);

}  // namespace culprit
