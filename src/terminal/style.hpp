// Colour and symbols by meaning. The symbol alone carries the meaning, so that a report reads the
// same without colour, in a log, or for a colour-blind reader.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

enum class Tone {
  kPass,     // green
  kFail,     // red
  kSilent,   // magenta: a wrong result without an error
  kUnknown,  // yellow: unresolved, skipped, a warning
  kStrong,   // bold
  kDim,      // grey
};

class Style {
 public:
  // Plain ASCII: for files and tests.
  Style() = default;
  Style(bool has_colour, bool has_utf8) : has_colour_(has_colour), has_utf8_(has_utf8) {}
  // What suits that descriptor and the environment (terminal.hpp).
  static Style for_output(int fd);

  bool has_colour() const { return has_colour_; }
  // The text in the tone's colour; unchanged without colour. Escape text from outside first.
  std::string paint(Tone tone, std::string_view text) const;
  // One column wide, not coloured: a tick, a cross, ... or in ASCII + x ! ? * -
  std::string_view symbol(Tone tone) const;
  // Symbol, space and text, coloured.
  std::string mark(Tone tone, std::string_view text) const;

 private:
  bool has_colour_ = false;
  bool has_utf8_ = false;
};

}  // namespace culprit
