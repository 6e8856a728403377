#include "plan/verify/symbolic.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "tests/plan/random_slices.hpp"

namespace weft::plan::testing::symbolic_test {
namespace {

using Origin = std::pair<ExpressionId, std::uint64_t>;  // of one byte
constexpr Origin kNothing = {kUndefined, 0};

std::vector<Origin> bytes_of(const std::vector<Piece>& pieces) {
  std::vector<Origin> bytes;
  for (const Piece& piece : pieces) {
    for (std::uint64_t i = 0; i < piece.bytes; ++i) {
      bytes.emplace_back(piece.expression, piece.expression == kUndefined ? 0 : piece.origin + i);
    }
  }
  return bytes;
}

RC_GTEST_PROP(SymbolicMemoryProperty, HoldsWhatAMapOfBytesHolds, ()) {
  SymbolicMemory memory;
  std::map<std::uint64_t, Origin> model;
  for (auto step = number(1, 12); step > 0; --step) {
    const auto block = number(1, 6);
    const Slice slice =
        Slice::strided(Space::stage, 0, number(0, 60), block, number(1, 5), block + number(0, 9));
    std::vector<Piece> pieces;
    for (std::uint64_t left = slice.bytes(); left > 0;) {
      const auto length = number(1, left);
      const auto expression =
          number(0, 3) == 0 ? kUndefined : static_cast<ExpressionId>(number(0, 1));
      pieces.push_back({length, expression == kUndefined ? 0 : number(0, 9), expression});
      left -= length;
    }
    memory.write(slice, pieces);
    const auto written = bytes_of(pieces);
    const auto places = testing::bytes_of(slice);
    for (std::size_t i = 0; i < places.size(); ++i) model[std::get<2>(places[i])] = written[i];

    const auto width = number(1, 9);
    const Slice window =
        Slice::strided(Space::stage, 0, number(0, 60), width, number(1, 6), width + number(0, 9));
    std::vector<Piece> read = {{3, 0, 7}};  // there before: stays as it is
    memory.read(window, read);
    RC_ASSERT(read.front().bytes == 3u);
    read.erase(read.begin());
    std::vector<Origin> expected;
    for (const auto& [space, owner, offset] : testing::bytes_of(window)) {
      const auto known = model.find(offset);
      expected.push_back(known == model.end() ? kNothing : known->second);
    }
    RC_ASSERT(bytes_of(read) == expected);
  }
  std::uint64_t covered = 0;
  std::uint64_t end = 0;
  for (const auto& segment : memory.segments()) {
    RC_ASSERT(segment.begin >= end);
    RC_ASSERT(segment.piece.bytes > 0u);
    end = segment.end();
    covered += segment.piece.bytes;
  }
  RC_ASSERT(covered == model.size());
}

}  // namespace
}  // namespace weft::plan::testing::symbolic_test
