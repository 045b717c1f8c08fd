// Texts of src/report/page/ and the catalogue, compiled in (cmake/EmbedFiles.cmake).
#pragma once

#include <string_view>

namespace culprit::embedded {

extern const std::string_view report_html;
extern const std::string_view report_css;
extern const std::string_view report_js;
extern const std::string_view known_reports_json;

}  // namespace culprit::embedded
