#include "report/launch_json.hpp"

#include <nlohmann/json.hpp>

namespace culprit {

nlohmann::ordered_json launch_json(const LaunchNotes& launch) {
  return {{"file", launch.file},
          {"dialect", launch.dialect},
          {"modelled", launch.modelled},
          {"not_modelled", launch.not_modelled},
          {"unknown", launch.unknown}};
}

LaunchNotes launch_from(const nlohmann::ordered_json& object) {
  return {.file = object.at("file"),
          .dialect = object.at("dialect"),
          .modelled = object.at("modelled"),
          .not_modelled = object.at("not_modelled"),
          .unknown = object.at("unknown")};
}

}  // namespace culprit
