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

// Lines as a block of code, whatever backticks they hold; control characters become visible. `language` may be empty.
std::string markdown_code(std::string_view lines, std::string_view language = "");

// A word for a span of code.
std::string markdown_span(std::string_view raw);

}  // namespace culprit
