// Programs that are alike, for properties: the same steps with the same numbers.
#pragma once

#include <rapidcheck.h>

#include <algorithm>

#include "engine/program/program.hpp"

namespace weft::engine {

inline bool is_alike(const Operand& a, const Operand& b) {
  return a.base == b.base && a.offset == b.offset && a.block_bytes == b.block_bytes &&
         a.count == b.count && a.stride == b.stride;
}

inline void expect_alike(const Program& a, const Program& b) {
  RC_ASSERT(a.steps().size() == b.steps().size());
  for (std::size_t id = 0; id < a.steps().size(); ++id) {
    const Step& one = a.steps()[id];
    const Step& other = b.steps()[id];
    RC_ASSERT(one.kind == other.kind);
    RC_ASSERT(one.is_inline == other.is_inline);
    RC_ASSERT(one.ordinal == other.ordinal);
    RC_ASSERT(one.small == other.small);
    RC_ASSERT(one.deferred == other.deferred);
    RC_ASSERT(one.fold == other.fold);
    RC_ASSERT(is_alike(one.dst, other.dst));
    RC_ASSERT(is_alike(one.src, other.src));
  }
  RC_ASSERT(a.pending().size() == b.pending().size());
  RC_ASSERT(std::ranges::equal(a.pending(), b.pending()));
  RC_ASSERT(std::ranges::equal(a.initial(), b.initial()));
  for (const plan::Space space :
       {plan::Space::input, plan::Space::output, plan::Space::stage, plan::Space::scratch}) {
    const auto bytes_of = [space](const Program& program) {
      switch (space) {
        case plan::Space::input:
          return program.input_bytes();
        case plan::Space::output:
          return program.output_bytes();
        case plan::Space::stage:
          return program.stage_bytes();
        case plan::Space::scratch:
          break;
      }
      return program.scratch_bytes();
    };
    RC_ASSERT(bytes_of(a) == bytes_of(b));
  }
}

}  // namespace weft::engine
