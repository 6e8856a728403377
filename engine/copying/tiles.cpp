#include "engine/copying/tiles.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/instruction_sets.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace weft::engine {

namespace {

constexpr std::uint64_t kLine = 64;
// Where runs do not lie side by side: as many as a near cache has lines for.
constexpr std::uint64_t kTileWrites = 32;
constexpr std::uint64_t kTileReads = 16;

std::ptrdiff_t past(std::uint64_t count, std::ptrdiff_t stride) noexcept {
  return static_cast<std::ptrdiff_t>(count) * stride;
}

template <class CopyRun>
void copy_all(std::byte* to, const std::byte* from, const Axis& writes, const Axis& reads,
              const CopyRun& copy_run) noexcept {
  for (std::uint64_t row = 0; row < reads.count; row += kTileReads) {
    const std::uint64_t last_row = std::min(row + kTileReads, reads.count);
    for (std::uint64_t column = 0; column < writes.count; column += kTileWrites) {
      const std::uint64_t last = std::min(column + kTileWrites, writes.count);
      for (std::uint64_t r = row; r < last_row; ++r) {
        std::byte* there = to + past(r, reads.to) + past(column, writes.to);
        const std::byte* here = from + past(r, reads.from) + past(column, writes.from);
        for (std::uint64_t w = column; w < last; ++w) {
          copy_run(there, here);
          there += writes.to;
          here += writes.from;
        }
      }
    }
  }
}

/// A size that the compiler knows is a load and a store.
template <std::size_t kBytes>
void copy_sized(std::byte* to, const std::byte* from, const Axis& writes,
                const Axis& reads) noexcept {
  copy_all(to, from, writes, reads,
           [](std::byte* there, const std::byte* here) { std::memcpy(there, here, kBytes); });
}

void copy_runs(std::byte* to, const std::byte* from, std::uint64_t run, const Axis& writes,
               const Axis& reads) noexcept {
  if (writes.count == 0 || reads.count == 0) return;
  switch (run) {
    case 4:
      return copy_sized<4>(to, from, writes, reads);
    case 8:
      return copy_sized<8>(to, from, writes, reads);
    case 16:
      return copy_sized<16>(to, from, writes, reads);
    case 32:
      return copy_sized<32>(to, from, writes, reads);
    default:
      copy_all(to, from, writes, reads,
               [run](std::byte* there, const std::byte* here) { std::memcpy(there, here, run); });
  }
}

#if defined(__SSE2__)

template <bool kPastCaches>
void store(std::byte* to, __m128i value) noexcept {
  if constexpr (kPastCaches) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), value);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
  }
}

__m128i load(const std::byte* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// Transposes a square of 16 bytes by 16 / kRun rows. Rows lie `to_stride` and `from_stride` apart.
template <std::size_t kRun, bool kPast>
void transpose_square(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                      std::ptrdiff_t from_stride) noexcept {
  const __m128i a = load(from);
  if constexpr (kRun == 16) {
    store<kPast>(to, a);
  } else if constexpr (kRun == 8) {
    const __m128i b = load(from + from_stride);
    store<kPast>(to, _mm_unpacklo_epi64(a, b));
    store<kPast>(to + to_stride, _mm_unpackhi_epi64(a, b));
  } else {
    const __m128i b = load(from + from_stride);
    const __m128i c = load(from + 2 * from_stride);
    const __m128i d = load(from + 3 * from_stride);
    const __m128i ab = _mm_unpacklo_epi32(a, b);
    const __m128i cd = _mm_unpacklo_epi32(c, d);
    const __m128i ab_high = _mm_unpackhi_epi32(a, b);
    const __m128i cd_high = _mm_unpackhi_epi32(c, d);
    store<kPast>(to, _mm_unpacklo_epi64(ab, cd));
    store<kPast>(to + to_stride, _mm_unpackhi_epi64(ab, cd));
    store<kPast>(to + 2 * to_stride, _mm_unpacklo_epi64(ab_high, cd_high));
    store<kPast>(to + 3 * to_stride, _mm_unpackhi_epi64(ab_high, cd_high));
  }
}

/// Whole squares of a line by a line: a line is written after the other, the lines read stay in the
/// nearest cache meanwhile.
template <std::size_t kRun, bool kPast>
void transpose_lines(std::byte* to, const std::byte* from, const Axis& writes,
                     const Axis& reads) noexcept {
  constexpr std::uint64_t kRuns = kLine / kRun;
  constexpr std::uint64_t kSide = 16 / kRun;
  for (std::uint64_t column = 0; column < writes.count; column += kRuns) {
    for (std::uint64_t row = 0; row < reads.count; row += kRuns) {
      for (std::uint64_t r = row; r < row + kRuns; r += kSide) {
        for (std::uint64_t c = column; c < column + kRuns; c += kSide) {
          transpose_square<kRun, kPast>(to + past(r, reads.to) + past(c, kRun), reads.to,
                                        from + past(r, kRun) + past(c, writes.from), writes.from);
        }
      }
    }
  }
  if constexpr (kPast) _mm_sfence();
}

// GCC takes the results that these begin with for unset.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#pragma GCC diagnostic ignored "-Wuninitialized"

/// Four 16-byte columns of four vectors, each to one of these.
[[gnu::target("avx512f")]] inline void transpose_quarters(__m512d (&lines)[4]) noexcept {
  const __m512d a = _mm512_shuffle_f64x2(lines[0], lines[1], 0x88);
  const __m512d b = _mm512_shuffle_f64x2(lines[0], lines[1], 0xdd);
  const __m512d c = _mm512_shuffle_f64x2(lines[2], lines[3], 0x88);
  const __m512d d = _mm512_shuffle_f64x2(lines[2], lines[3], 0xdd);
  lines[0] = _mm512_shuffle_f64x2(a, c, 0x88);
  lines[1] = _mm512_shuffle_f64x2(b, d, 0x88);
  lines[2] = _mm512_shuffle_f64x2(a, c, 0xdd);
  lines[3] = _mm512_shuffle_f64x2(b, d, 0xdd);
}

/// As transpose_lines() for runs of 8 bytes, a square of lines in registers: each is loaded and
/// stored once, whether or not all of them fit into their set of the nearest cache.
template <bool kPast>
[[gnu::target("avx512f")]] void transpose_registers(std::byte* to, const std::byte* from,
                                                    const Axis& writes,
                                                    const Axis& reads) noexcept {
  for (std::uint64_t column = 0; column < writes.count; column += 8) {
    for (std::uint64_t row = 0; row < reads.count; row += 8) {
      const std::byte* here = from + past(row, 8) + past(column, writes.from);
      std::byte* there = to + past(row, reads.to) + past(column, 8);
      __m512d even[4];
      __m512d odd[4];
      for (int i = 0; i < 4; ++i, here += 2 * writes.from) {
        const __m512d a = _mm512_loadu_pd(here);
        const __m512d b = _mm512_loadu_pd(here + writes.from);
        even[i] = _mm512_unpacklo_pd(a, b);
        odd[i] = _mm512_unpackhi_pd(a, b);
      }
      transpose_quarters(even);
      transpose_quarters(odd);
      for (int i = 0; i < 8; ++i, there += reads.to) {
        const __m512d line = i % 2 == 0 ? even[i / 2] : odd[i / 2];
        if constexpr (kPast) {
          _mm512_stream_pd(reinterpret_cast<double*>(there), line);
        } else {
          _mm512_storeu_pd(there, line);
        }
      }
    }
  }
  if constexpr (kPast) _mm_sfence();
}

#pragma GCC diagnostic pop

template <std::size_t kRun, bool kPast>
void transpose_whole(std::byte* to, const std::byte* from, const Axis& writes,
                     const Axis& reads) noexcept {
  if constexpr (kRun == 8) {
    static const bool has_avx512 = kernels::has_instruction_set("avx512");
    if (has_avx512) return transpose_registers<kPast>(to, from, writes, reads);
  }
  transpose_lines<kRun, kPast>(to, from, writes, reads);
}

/// Runs side by side on both sides.
template <std::size_t kRun>
void transpose(std::byte* to, const std::byte* from, Axis writes, Axis reads,
               bool past_caches) noexcept {
  constexpr std::uint64_t kRuns = kLine / kRun;
  // Up to where lines begin that are written, then whole squares, then what is left of both axes.
  const std::uint64_t off = reinterpret_cast<std::uintptr_t>(to) % kLine;
  const bool can_align = off % kRun == 0;
  const std::uint64_t head =
      can_align ? std::min<std::uint64_t>(writes.count, (kLine - off) % kLine / kRun) : 0;
  const auto part = [](Axis axis, std::uint64_t count) {
    axis.count = count;
    return axis;
  };
  copy_runs(to, from, kRun, part(writes, head), reads);
  to += past(head, writes.to);
  from += past(head, writes.from);
  writes.count -= head;
  const Axis columns = part(writes, writes.count / kRuns * kRuns);
  const Axis rows = part(reads, reads.count / kRuns * kRuns);
  if (past_caches && can_align && reads.to % static_cast<std::ptrdiff_t>(kLine) == 0) {
    transpose_whole<kRun, true>(to, from, columns, rows);
  } else {
    transpose_whole<kRun, false>(to, from, columns, rows);
  }
  copy_runs(to + past(columns.count, writes.to), from + past(columns.count, writes.from), kRun,
            part(writes, writes.count - columns.count), reads);
  copy_runs(to + past(rows.count, reads.to), from + past(rows.count, reads.from), kRun, columns,
            part(reads, reads.count - rows.count));
}

#endif

}  // namespace

void copy_tiles(std::byte* to, const std::byte* from, std::uint64_t run_bytes, const Axis& writes,
                const Axis& reads, [[maybe_unused]] bool past_caches) noexcept {
#if defined(__SSE2__)
  const auto run = static_cast<std::ptrdiff_t>(run_bytes);
  if (writes.to == run && reads.from == run) {
    if (run == 4) return transpose<4>(to, from, writes, reads, past_caches);
    if (run == 8) return transpose<8>(to, from, writes, reads, past_caches);
    if (run == 16) return transpose<16>(to, from, writes, reads, past_caches);
  }
#endif
  copy_runs(to, from, run_bytes, writes, reads);
}

}  // namespace weft::engine
