#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/build_info.hpp"
#include "base/version.hpp"
#include "report/redact.hpp"
#include "report/run_record.hpp"
#include "tensor/cpu_backend.hpp"

namespace culprit {
namespace {

std::string value_after(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) {
      auto value = line.substr(key.size());
      value.erase(0, value.find_first_not_of(" \t:=\""));
      if (!value.empty() && value.back() == '"') value.pop_back();
      return value;
    }
  return "unknown";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe_environment(const std::string& runtime) {
  std::vector<std::pair<std::string, std::string>> list{
      {"culprit", fmt::format("{} (commit {})", kVersion, kBuildCommit)},
      {"compiler", kBuildCompiler},
      {"BLAS", blas_description()},
      {"fmt",
       fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann/json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                    NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"CPU", fmt::format("{}, {} threads", value_after("/proc/cpuinfo", "model name"),
                          std::thread::hardware_concurrency())},
      {"cells ran on", runtime},
      {"system", value_after("/etc/os-release", "PRETTY_NAME")}};
  for (const std::string& name : shown_variables())
    if (const char* value = std::getenv(name.c_str())) list.emplace_back(name, value);
  return list;
}

}  // namespace culprit
