// Text from outside made inert in the formats of a report.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

// For XML and HTML, in text and in quoted attributes. Control characters become visible first.
std::string xml_text(std::string_view raw);

// For Markdown and the HTML that trackers let through in it, inside one line. Mentions (@name), links, emphasis,
// tables and code are text.
std::string markdown_text(std::string_view raw);

}  // namespace culprit
