// The flag table and its documentation.
#include "launch/flag_table.hpp"

#include <set>

#include "launch_test_util.hpp"

namespace culprit::launch {
namespace {

TEST(FlagTable, NamesAreUniqueAndNormalised) {
  std::set<std::string_view> names;
  for (const FlagRow& row : flag_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.name.find('-'), std::string_view::npos) << row.name;
    EXPECT_NE(row.dialects, 0u) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    const bool modelled = row.cls == FlagClass::kSwitch || row.cls == FlagClass::kSize;
    EXPECT_TRUE(!modelled || row.setting != Setting::kNone) << row.name;
  }
}

TEST(FlagTable, LookUpIgnoresDashesAndValues) {
  ASSERT_NE(find_flag("--tensor-model-parallel-size=8"), nullptr);
  EXPECT_EQ(find_flag("--tensor_model_parallel_size"), find_flag("--tensor-model-parallel-size=8"));
  EXPECT_EQ(find_flag("--no-such-flag"), nullptr);
  EXPECT_EQ(find_flag("--json:fp16.enabled"), nullptr);
  EXPECT_NE(find_list_word("tensor_parallel_config", "enable_mp_skip_c_identity"), nullptr);
  EXPECT_NE(find_config_key("fp16.enabled"), nullptr);
}

TEST(FlagTable, EveryModelledRowIsDocumented) {
  const std::string docs =
      file_text(std::filesystem::path(CULPRIT_TEST_DATA) / "../../docs/launch_scripts.md");
  for (const FlagRow& row : flag_rows()) {
    if (row.cls != FlagClass::kSwitch && row.cls != FlagClass::kSize) continue;
    EXPECT_NE(docs.find("`" + std::string(row.name) + "`"), std::string::npos) << row.name;
  }
}

}  // namespace
}  // namespace culprit::launch
