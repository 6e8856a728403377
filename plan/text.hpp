// Text form of a plan: one op a line, for people, diffs and golden files.
//
//   weft-plan 1
//   rank 1 of 4
//   bytes input 256 output 256 stage 128 scratch 0
//   0 copy stage@1:0+64x2/64 <- input@1:0+64x2/128
//   1 signal 0 after 0
//   2 wait 0
//   3 send 3 input@1:192+64
//   4 recv 3 output@1:192+64
//   5 reduce output@1:0+64 <- left stage@0:64+64 after 2,4
//
// The word after the arrow of a reduce is the side of the destination among the operands. Empty
// lines, and text from a '#' to the end of a line, are ignored.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace weft::plan {

std::string to_text(const Plan& plan);

/// One op as in its line, without its number and the ops that it follows.
std::string to_string(const Op& op);

/// parse(to_text(p)) == p. UsageError gives the line's number, its text and what is wrong;
/// `first_line` is the number of the text's first line, for a text that is part of a file.
Plan parse(std::string_view text, std::size_t first_line = 1);

}  // namespace weft::plan
