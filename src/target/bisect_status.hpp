// One trial as an exit status for `git bisect run`.
#pragma once

#include <string_view>

#include "isolate/space.hpp"

namespace culprit {

// `got` is `wanted`, or wanted is a leading part of it up to a ':' or '@' ("EXIT:1" of
// "EXIT:1:ValueError: ..."). An empty `wanted` is any failure.
bool matches_fingerprint(std::string_view wanted, std::string_view got);

// 0 the trial passes (old, good); 1 it fails with the wanted fingerprint (new, bad); 125 it can't
// be told, or it fails in another way (skip this commit). Never 128 or more, which would end the
// bisection.
int bisect_status(const Trial& trial, std::string_view wanted);

}  // namespace culprit
