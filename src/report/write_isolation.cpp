#include "report/write_isolation.hpp"

#include "base/whole_file.hpp"
#include "report/isolation_json.hpp"
#include "report/isolation_markdown.hpp"

namespace culprit {

void write_isolation(const IsolationRecord& record, const std::filesystem::path& folder,
                     Redactor& redactor) {
  write_whole_file(folder / "report.md", isolation_markdown(record, redactor));
  write_whole_file(folder / "report.json", isolation_json(record, redactor));
}

}  // namespace culprit
