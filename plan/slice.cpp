#include "plan/slice.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.hpp"

namespace weft::plan {

namespace {

constexpr std::array<std::string_view, 4> kSpaceNames = {"input", "output", "stage", "scratch"};

bool same_memory(const Slice& a, const Slice& b) {
  return a.space == b.space && a.owner == b.owner;
}

/// Adds the blocks of `next` to those of `slice` where they continue its arithmetic progression.
bool extend(Slice& slice, const Slice& next) {
  if (!same_memory(slice, next) || slice.block_bytes != next.block_bytes) return false;
  if (next.offset <= slice.end()) return false;
  const std::uint64_t last = slice.offset + (slice.count - 1) * slice.stride;
  const std::uint64_t distance = next.offset - last;
  if (slice.count > 1 && distance != slice.stride) return false;
  if (next.count > 1 && distance != next.stride) return false;
  slice.count += next.count;
  slice.stride = distance;
  return true;
}

/// Consumes a number at the front of `text`.
bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string_view to_string(Space space) {
  return kSpaceNames[static_cast<std::size_t>(space)];
}

Slice Slice::strided(Space space, int owner, std::uint64_t offset, std::uint64_t block_bytes,
                     std::uint64_t count, std::uint64_t stride) {
  if (block_bytes == 0 || count == 0) return {space, owner, 0, 0, 0, 0};
  if (count > 1 && stride < block_bytes) {
    throw_usage(
        "slice of {} blocks of {} bytes with stride {}: the stride must be at least the block",
        count, block_bytes, stride);
  }
  if (count == 1) stride = block_bytes;
  if (offset >= kLimit || block_bytes >= kLimit || (count > 1 && stride >= kLimit / (count - 1)) ||
      offset + (count - 1) * stride + block_bytes > kLimit) {
    throw_usage("slice at offset {} of {} blocks of {} bytes with stride {}: ends past 2^63",
                offset, count, block_bytes, stride);
  }
  if (stride == block_bytes)
    return {space, owner, offset, block_bytes * count, 1, block_bytes * count};
  return {space, owner, offset, block_bytes, count, stride};
}

bool join(Slice& slice, const Slice& next) {
  if (next.offset != slice.end() || !slice.is_contiguous() || !next.is_contiguous() ||
      !same_memory(slice, next)) {
    return false;
  }
  slice.block_bytes += next.block_bytes;
  slice.stride = slice.block_bytes;
  return true;
}

// Blocks that touch become one before distances are looked at: they do not mix.
void JoinedSlices::add(const Slice& slice) {
  if (slice.empty() || (!block_.empty() && join(block_, slice))) return;
  end_block();
  block_ = slice;
}

void JoinedSlices::end_block() {
  if (block_.empty()) return;
  if (list_.empty() || !extend(list_.back(), block_)) list_.push_back(block_);
}

std::vector<Slice> JoinedSlices::take() {
  end_block();
  block_ = {};
  return std::exchange(list_, {});
}

std::vector<Slice> coalesce(std::span<const Slice> slices) {
  JoinedSlices joined;
  for (const Slice& slice : slices) joined.add(slice);
  return joined.take();
}

std::vector<Slice> subslices(const Slice& slice, std::uint64_t from, std::uint64_t bytes) {
  if (from > slice.bytes() || bytes > slice.bytes() - from) {
    throw_usage("bytes {}+{} of {}: beyond its {} bytes", from, bytes, to_string(slice),
                slice.bytes());
  }
  std::vector<Slice> parts;
  const auto add = [&](std::uint64_t block, std::uint64_t skip, std::uint64_t length) {
    parts.push_back(Slice::contiguous(slice.space, slice.owner,
                                      slice.offset + block * slice.stride + skip, length));
  };
  if (bytes == 0) return parts;
  const std::uint64_t size = slice.block_bytes;
  const std::uint64_t skip = from % size;
  std::uint64_t block = from / size;
  if (skip != 0) {
    const std::uint64_t head = std::min(bytes, size - skip);
    add(block++, skip, head);
    bytes -= head;
  }
  if (const std::uint64_t whole = bytes / size; whole != 0) {
    parts.push_back(Slice::strided(slice.space, slice.owner, slice.offset + block * slice.stride,
                                   size, whole, slice.stride));
    block += whole;
  }
  if (const std::uint64_t tail = bytes % size; tail != 0) add(block, 0, tail);
  return parts;
}

std::optional<Slice> overlap(const Slice& a, const Slice& b) {
  if (!same_memory(a, b) || a.offset >= b.end() || b.offset >= a.end()) return std::nullopt;
  std::uint64_t i = 0;
  std::uint64_t j = 0;
  while (i < a.count && j < b.count) {
    const std::uint64_t a_begin = a.offset + i * a.stride;
    const std::uint64_t b_begin = b.offset + j * b.stride;
    const std::uint64_t begin = std::max(a_begin, b_begin);
    const std::uint64_t end = std::min(a_begin + a.block_bytes, b_begin + b.block_bytes);
    if (begin < end) return Slice::contiguous(a.space, a.owner, begin, end - begin);
    a_begin < b_begin ? ++i : ++j;
  }
  return std::nullopt;
}

std::string to_string(const Slice& slice) {
  if (slice.is_contiguous()) {
    return fmt::format("{}@{}:{}+{}", to_string(slice.space), slice.owner, slice.offset,
                       slice.bytes());
  }
  return fmt::format("{}@{}:{}+{}x{}/{}", to_string(slice.space), slice.owner, slice.offset,
                     slice.block_bytes, slice.count, slice.stride);
}

Slice parse_slice(std::string_view text) {
  const std::string_view whole = text;
  const auto at = text.find('@');
  const auto space = std::ranges::find(kSpaceNames, text.substr(0, at));
  if (at == text.npos || space == kSpaceNames.end()) {
    throw_usage("slice '{}': does not begin with input@, output@, stage@ or scratch@", whole);
  }
  text.remove_prefix(at + 1);
  std::uint64_t owner = 0;
  std::uint64_t offset = 0;
  std::uint64_t block = 0;
  std::uint64_t count = 1;
  std::uint64_t stride = 0;
  bool good = take_number(text, owner) && owner <= INT32_MAX && take(text, ':') &&
              take_number(text, offset) && take(text, '+') && take_number(text, block);
  if (good && take(text, 'x')) {
    good = take_number(text, count) && take(text, '/') && take_number(text, stride);
  }
  if (!good || !text.empty()) {
    throw_usage(
        "slice '{}': not of the form SPACE@RANK:OFFSET+BYTES or "
        "SPACE@RANK:OFFSET+BYTESxCOUNT/STRIDE",
        whole);
  }
  return Slice::strided(static_cast<Space>(space - kSpaceNames.begin()), static_cast<int>(owner),
                        offset, block, count, stride);
}

}  // namespace weft::plan
