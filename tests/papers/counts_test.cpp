// The head of docs/papers.md.
#include <gtest/gtest.h>

#include "tests/papers/page.hpp"

namespace weft::papers::counts_test {
namespace {

TEST(Page, CountsItsRowsAtItsHead) {
  const std::string page = read_page();
  EXPECT_EQ(part_of(page, "counts"), counts_of(page));
}

TEST(Page, CountsRowsByStatusAndAgreement) {
  const std::string counts = counts_of(
      "| not | a | section | yes |\n## One\n| x | paper | status | agrees |\n|---|---|---|---|\n"
      "| 1 | a | predicted | A 1, B 2 | B 3 | yes |\n| 2 | a | predicted | A 1 | - | no |\n"
      "## Two\nNo table.\n## Three\n| 1 | 2 | a | calibrated | A 1 | B | yes |\n");
  EXPECT_TRUE(counts.starts_with("1 of 2 predicted rows agree with the papers, and 1 of 1 on"))
      << counts;
  EXPECT_NE(counts.find("| One | 0 | 0 | 2 | 1 |\n| Three | 1 | 1 | 0 | 0 |\n| all | 1 | 1 | 2 | 1 "
                        "|\n"),
            std::string::npos)
      << counts;
}

}  // namespace
}  // namespace weft::papers::counts_test
