#include "report/write_isolation.hpp"

#include "report/isolation_json.hpp"
#include "report/isolation_markdown.hpp"
#include "report/whole_file.hpp"

namespace culprit {

void write_isolation(const IsolationRecord& record, const std::filesystem::path& folder) {
  write_whole_file(folder / "report.md", isolation_markdown(record));
  write_whole_file(folder / "report.json", isolation_json(record));
}

}  // namespace culprit
