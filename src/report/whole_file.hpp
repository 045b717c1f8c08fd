// A file that is there whole or not at all.
#pragma once

#include <filesystem>
#include <string>

namespace culprit {

// Writes beside the place (NAME.partial), then renames. Errors: SetupError.
void write_whole_file(const std::filesystem::path& path, const std::string& text);

}  // namespace culprit
