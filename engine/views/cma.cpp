#include "engine/views/cma.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace weft::engine {

namespace {

using verbs::Layout;
using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

constexpr std::size_t kPieces = 64;

/// The next pieces of a layout, up to kPieces of them and `limit` bytes.
struct Pieces {
  std::array<iovec, kPieces> list;
  std::size_t count = 0;
  std::uint64_t bytes = 0;

  void fill(const Layout& layout, std::uint64_t from, std::uint64_t limit) noexcept {
    count = 0;
    bytes = 0;
    const std::uint64_t end = std::min(layout.bytes(), from + limit);
    while (from < end && count < kPieces) {
      const std::uint64_t block = from / layout.block_bytes;
      const std::uint64_t within = from - block * layout.block_bytes;
      const std::uint64_t run = std::min(layout.block_bytes - within, end - from);
      list[count++] = {layout.base + block * layout.stride + within, run};
      from += run;
      bytes += run;
    }
  }
};

bool move(Call call, pid_t process, const Layout& ours, const Layout& theirs) noexcept {
  // One call moves at most 2 GiB - 4 KiB; a round number below keeps blocks whole.
  constexpr std::uint64_t kMost = 1ull << 30;
  Pieces here;
  Pieces there;
  std::uint64_t moved = 0;
  while (moved < ours.bytes()) {
    here.fill(ours, moved, kMost);
    there.fill(theirs, moved, here.bytes);
    if (there.bytes < here.bytes) here.fill(ours, moved, there.bytes);
    const ssize_t done =
        call(process, here.list.data(), here.count, there.list.data(), there.count, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    moved += static_cast<std::uint64_t>(done);
  }
  return true;
}

}  // namespace

bool read_from(pid_t process, const Layout& ours, const Layout& theirs) noexcept {
  return move(&::process_vm_readv, process, ours, theirs);
}

bool write_to(pid_t process, const Layout& ours, const Layout& theirs) noexcept {
  return move(&::process_vm_writev, process, ours, theirs);
}

std::int64_t read_runs(pid_t process, std::span<const iovec> ours,
                       std::span<const iovec> theirs) noexcept {
  for (;;) {
    const ssize_t done =
        ::process_vm_readv(process, ours.data(), ours.size(), theirs.data(), theirs.size(), 0);
    if (done >= 0 || errno != EINTR) return done;
  }
}

bool has_cma(pid_t process, std::uint64_t address, std::uint64_t expected) noexcept {
  std::uint64_t word = 0;
  const Layout ours{reinterpret_cast<std::byte*>(&word), sizeof word, 1, sizeof word, 0};
  const Layout theirs{reinterpret_cast<std::byte*>(address), sizeof word, 1, sizeof word, 0};
  return read_from(process, ours, theirs) && word == expected;
}

}  // namespace weft::engine
