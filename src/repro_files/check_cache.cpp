#include "repro_files/check_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/whole_file.hpp"

namespace culprit {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

// Everything that what was seen depends on.
Json key_of(const ReproFile& file, const std::string& tool) {
  return {{"schema", 1},
          {"tool", tool},
          {"name", file.name},
          {"exit_status", file.exit_status},
          {"shows", file.shows},
          {"text", file.text},
          {"rule_line", file.rule_line},
          {"fixed_line", file.fixed_line}};
}

std::string dump(const Json& json) {
  return json.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// FNV-1a, 64 bits.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace

std::optional<ReproCheck> CheckCache::find(const ReproFile& file, const std::string& tool) const {
  if (folder_.empty()) return std::nullopt;
  const Json key = key_of(file, tool);
  std::ifstream in(folder_ / (hash_of(dump(key)) + ".json"));
  if (!in) return std::nullopt;
  const Json entry = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  try {
    if (entry.at("key") != key) return std::nullopt;
    return ReproCheck{.name = file.name,
                      .status = entry.at("shown").get<bool>() ? ReproCheck::Status::kShown
                                                              : ReproCheck::Status::kNotShown,
                      .words = entry.at("words"),
                      .output_tail = entry.at("output_tail"),
                      .from_cache = true};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void CheckCache::keep(const ReproFile& file, const std::string& tool,
                      const ReproCheck& check) const {
  const bool ran =
      check.status == ReproCheck::Status::kShown || check.status == ReproCheck::Status::kNotShown;
  if (folder_.empty() || !ran) return;
  const Json key = key_of(file, tool);
  const Json entry{{"key", key},
                   {"shown", check.status == ReproCheck::Status::kShown},
                   {"words", check.words},
                   {"output_tail", check.output_tail}};
  const fs::path path = folder_ / (hash_of(dump(key)) + ".json");
  // Named by this process, so that writers of the same result don't meet.
  const fs::path own = path.string() + fmt::format(".{}", ::getpid());
  std::error_code error;
  try {
    write_whole_file(own, dump(entry) + "\n");
    fs::rename(own, path, error);
  } catch (const SetupError&) {
    fs::remove(own, error);
  }
}

}  // namespace culprit
