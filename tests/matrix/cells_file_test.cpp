// Files of cells: what is read, what is refused and where, what is written.
#include "matrix/cells_file.hpp"

#include <sstream>

#include "base/error.hpp"
#include "gtest/gtest.h"

namespace culprit {
namespace {

CellsFile read(const std::string& text) {
  std::istringstream in(text);
  return read_cells(in);
}
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const UsageError& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
  return "not refused";
}

TEST(CellsFileTest, ColumnsMayStandInAnyOrder) {
  const CellsFile file = read("identity,acc,tp,pp\nskip,3,4,1\n");
  ASSERT_EQ(file.cells.size(), 1U);
  EXPECT_EQ(file.cells[0].tp, 4);
  EXPECT_EQ(file.cells[0].pp, 1);
  EXPECT_EQ(file.cells[0].acc, 3);
  EXPECT_EQ(file.cells[0].identity, IdentityVariant::kSkip);
  EXPECT_EQ(file.columns, (std::vector<std::string>{"identity", "acc", "tp", "pp"}));
}

TEST(CellsFileTest, ANulByteIsRefusedWithItsLine) {
  EXPECT_EQ(refusal(std::string("tp\n2\n2\0\n", 9)), "line 3: a NUL byte, expected text");
}

TEST(CellsFileTest, MissingColumnsTakeTheirDefaults) {
  const Cell cell = read("residual\n1\n").cells.at(0);
  EXPECT_TRUE(cell.residual);
  EXPECT_EQ(cell.tp, 2);
  EXPECT_EQ(cell.pp, 2);
  EXPECT_EQ(cell.acc, 4);
  EXPECT_EQ(cell.blocks, 2);
  EXPECT_EQ(cell.hidden, 8);
  EXPECT_EQ(cell.tokens, 3);
  EXPECT_TRUE(cell.embed);
  EXPECT_EQ(cell.tail, Tail::kRow);
}

TEST(CellsFileTest, EverySizeAndToggleMayBeAColumn) {
  std::string header, values;
  for (const Field& row : fields()) {
    header += (header.empty() ? "" : ",") + row.name;
    values += (values.empty() ? "" : ",") + row.get(Cell{});
  }
  EXPECT_EQ(read(header + "\n" + values + "\n").columns.size(), fields().size());
  const Cell cell = read("loss_scale,loss_division,framework\n1024,delayed,paddle@2.6.2\n").cells.at(0);
  EXPECT_EQ(cell.loss_scale, 1024.0);
  EXPECT_EQ(cell.loss_division, LossDivision::kDelayed);
  EXPECT_EQ(cell.framework, "paddle@2.6.2");
}

TEST(CellsFileTest, FrameworkIsGivenByFlagOrColumnNotBoth) {
  std::istringstream plain("tp\n2\n"), column("tp,framework\n2,paddle@3.3.1\n"), unknown("tp\n2\n");
  EXPECT_EQ(read_cells(plain, "paddle@2.6.2").cells.at(0).framework, "paddle@2.6.2");
  EXPECT_THROW(read_cells(column, "paddle@2.6.2"), UsageError);
  EXPECT_THROW(read_cells(unknown, "paddle@9"), UsageError);
  EXPECT_NE(refusal("framework\npaddle@9\n").find("known: paddle@3.3.1, paddle@2.6.2"), std::string::npos);
}

TEST(CellsFileTest, BlocksFollowPpUnlessGiven) {
  EXPECT_EQ(read("pp\n4\n").cells.at(0).blocks, 4);
  EXPECT_EQ(read("pp,blocks\n2,6\n").cells.at(0).blocks, 6);
  EXPECT_EQ(read("blocks,pp\n6,3\n").cells.at(0).blocks, 6);
}

TEST(CellsFileTest, CarriageReturnsQuotesAndEmptyLinesAreRead) {
  const CellsFile file = read("\"tp\",pp\r\n\"2\",1\r\n\r\n1,\"1\"\r\n");
  ASSERT_EQ(file.cells.size(), 2U);
  EXPECT_EQ(file.cells[0].tp, 2);
  EXPECT_EQ(file.cells[1].tp, 1);
}

TEST(CellsFileTest, LastLineMayLackItsNewline) { EXPECT_EQ(read("tp,pp\n2,1\n1,1").cells.size(), 2U); }

TEST(CellsFileTest, ResultColumnsInTheInputAreIgnored) {
  const CellsFile file = read("outcome,tp,kind,where,loss,worst,checksum,freed\nnonsense,2,,,x,y,\"a, b\",z\n");
  EXPECT_EQ(file.columns, std::vector<std::string>{"tp"});
  EXPECT_EQ(file.rows.at(0), std::vector<std::string>{"2"});
}

struct Refused {
  const char* name;
  const char* text;
  std::vector<std::string> says;
};
class CellsFileRefusalTest : public ::testing::TestWithParam<Refused> {};

TEST_P(CellsFileRefusalTest, NamesTheLineAndTheReason) {
  const std::string message = refusal(GetParam().text);
  for (const auto& part : GetParam().says) EXPECT_NE(message.find(part), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, CellsFileRefusalTest,
    ::testing::Values(
        Refused{"NoHeader", "", {"line 1", "no header"}},
        Refused{"NoToggleColumn", "outcome\nPASS\n", {"line 1", "no toggle column"}},
        Refused{"UnknownColumn", "tp,skip_c\n2,1\n", {"line 1", "unknown column 'skip_c'"}},
        Refused{"RepeatedColumn", "tp,pp,tp\n2,1,2\n", {"line 1", "'tp' stands twice"}},
        Refused{"UnknownWord", "tp,identity\n2,copy\n2,clone\n", {"line 3", "identity", "'clone'", "mark_not_inplace"}},
        Refused{"MarkOfAnotherFramework", "identity\nmark_dirty\n", {"line 2", "paddle@3.3.1 has no mark_dirty"}},
        Refused{"UnknownRule", "framework\npaddle@3.3.1+new\n", {"line 2", "unknown rule 'new'", "new_handle"}},
        Refused{"NotANumber", "tp\n2\n2\ntwo\n", {"line 4", "tp", "'two'", "from 1 to"}},
        Refused{"NumberWithATail", "tp\n2x\n", {"line 2", "'2x'"}},
        Refused{"NumberOutOfRange", "acc\n0\n", {"line 2", "acc", "'0'"}},
        Refused{"HugeNumber", "acc\n99999999999999999999\n", {"line 2", "acc"}},
        Refused{"SwitchThatIsNoBit", "residual\nyes\n", {"line 2", "residual", "0 or 1"}},
        Refused{"EmptyValue", "tp,pp\n2,\n", {"line 2", "pp"}},
        Refused{"TooFewValues", "tp,pp\n2\n", {"line 2", "got 1 values, expected 2"}},
        Refused{"TooManyValues", "tp,pp\n2,1,1\n", {"line 2", "got 3 values, expected 2"}},
        Refused{"OpenQuote", "tp,pp\n\"2,1\n", {"line 2", "quote"}},
        Refused{"TpDoesNotDivideHidden", "tp\n3\n", {"line 2", "tp 3", "8 features"}},
        Refused{"PpDoesNotDivideBlocks", "pp,blocks\n2,3\n", {"line 2", "pp 2", "3 blocks"}},
        Refused{"SkipAtTp1", "tp,identity\n1,skip\n", {"line 2", "tp 1"}},
        Refused{"OverlapAtTp1", "tp,path\n1,overlap\n", {"line 2", "tp 1"}},
        Refused{"ViewOnTheOverlapPath", "path,identity\noverlap,view\n", {"line 2", "overlap", "view"}},
        Refused{"ReleaseAtPp1", "pp,release\n1,1\n", {"line 2", "release"}}),
    [](const auto& instance) { return instance.param.name; });

TEST(CellsFileTest, WritesTogglesVerbatimAndAllResultColumns) {
  CellsFile file = read("acc,tp\n04,2\n1,2\n");
  std::vector<Outcome> outcomes(2);
  outcomes[0].outcome = OutcomeClass::kError;
  outcomes[0].kind = "LEAF_INPLACE";
  outcomes[0].where = "stage0.tp0:forward 0;stage0.tp1:forward 0";
  outcomes[1].loss = 0.25;
  outcomes[1].worst = 1.5e-7;
  outcomes[1].checksums = {{"embed@0.0", 0.5}, {"col0.0@0.0", 0.125}};
  outcomes[1].freed = 0;
  std::ostringstream out;
  write_cells(out, file, outcomes);
  EXPECT_EQ(out.str(),
            "acc,tp,outcome,kind,where,loss,worst,checksum,freed\n"
            "04,2,ERROR,LEAF_INPLACE,stage0.tp0:forward 0;stage0.tp1:forward 0,,,,\n"
            "1,2,PASS,,,0.25,1.5e-07,embed@0.0=0.5 col0.0@0.0=0.125,0\n");
}

TEST(CellsFileTest, WhatIsWrittenCanBeReadAndWrittenAgain) {
  const CellsFile file = read("pp,identity,tp\n1,copy,2\n2,skip,2\n");
  std::vector<Outcome> outcomes(2);
  outcomes[1].kind = "a \"quoted\", kind";
  std::ostringstream first, second;
  write_cells(first, file, outcomes);
  const CellsFile again = read(first.str());
  EXPECT_EQ(again.columns, file.columns);
  EXPECT_EQ(again.rows, file.rows);
  write_cells(second, again, outcomes);
  EXPECT_EQ(second.str(), first.str());
}

}  // namespace
}  // namespace culprit
