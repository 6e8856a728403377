#include "engine/copying/reduce.hpp"

#include <algorithm>

namespace weft::engine {

namespace {

/// Walks the blocks of a layout.
struct Cursor {
  explicit Cursor(const verbs::Layout& of) : layout(of), at(of.base), left(of.block_bytes) {}

  void advance(std::uint64_t bytes) {
    at += bytes;
    left -= bytes;
    if (left != 0) return;
    ++block;
    at = layout.base + block * layout.stride;
    left = layout.block_bytes;
  }

  const verbs::Layout& layout;
  std::byte* at;
  std::uint64_t left;  // of this block
  std::uint64_t block = 0;
};

}  // namespace

bool reduce(const Operation& operation, plan::Operand dst_operand, const verbs::Layout& dst,
            const verbs::Layout& src, const Fetch& fetch) noexcept {
  const std::uint64_t element = operation.element_bytes;
  const std::uint64_t piece = fetch.call == nullptr ? UINT64_MAX : fetch.piece / element * element;
  Cursor to(dst);
  Cursor from(src);
  for (std::uint64_t left = dst.bytes(); left != 0;) {
    const std::uint64_t bytes = std::min({to.left, from.left, piece});
    const std::byte* source = from.at;
    if (fetch.call != nullptr) source = fetch.call(fetch.context, from.at, bytes);
    if (source == nullptr) return false;
    const bool dst_is_left = dst_operand == plan::Operand::left;
    operation.combine(operation.context, to.at, dst_is_left ? to.at : source,
                      dst_is_left ? source : to.at, bytes / element);
    to.advance(bytes);
    from.advance(bytes);
    left -= bytes;
  }
  return true;
}

}  // namespace weft::engine
