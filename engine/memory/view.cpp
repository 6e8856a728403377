#include "engine/memory/view.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "engine/memory/heap.hpp"
#include "engine/memory/xpmem.hpp"

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

/// Made and attached as a peer would.
ViewReport report_heap() {
  ViewReport report{"shared heap", false, heap::start(0)};
  if (!report.why.empty()) return report;
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), heap::descriptor());
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  report.works = static_cast<bool>(file);
  report.why = file ? fmt::format("of up to {} GiB, where WEFT_SHARED_HEAP asks for it",
                                  heap::range.bytes >> 30)
                    : SystemError(fmt::format("open({})", path), errno).what();
  return report;
}

}  // namespace

std::string_view to_string(View view) {
  switch (view) {
    case View::same_process:
      return "same process";
    case View::shared_heap:
      return "shared heap";
    case View::xpmem:
      return "xpmem";
    case View::cma:
      return "cma";
    case View::staged:
      return "staged";
  }
  return "?";
}

View best_allowed_view() {
  const auto text = env::text("WEFT_VIEW");
  if (!text || *text == "auto") return View::same_process;
  if (*text == "shared-heap") return View::shared_heap;
  if (*text == "xpmem") return View::xpmem;
  if (*text == "cma") return View::cma;
  if (*text == "staged") return View::staged;
  throw_usage("WEFT_VIEW={}: not one of auto, shared-heap, xpmem, cma, staged", *text);
}

bool read_from(pid_t process, const Layout& ours, const Layout& theirs) noexcept {
  return move(&::process_vm_readv, process, ours, theirs);
}

bool write_to(pid_t process, const Layout& ours, const Layout& theirs) noexcept {
  return move(&::process_vm_writev, process, ours, theirs);
}

bool has_cma(pid_t process, std::uint64_t address, std::uint64_t expected) noexcept {
  std::uint64_t word = 0;
  const Layout ours{reinterpret_cast<std::byte*>(&word), sizeof word, 1, sizeof word, 0};
  const Layout theirs{reinterpret_cast<std::byte*>(address), sizeof word, 1, sizeof word, 0};
  return read_from(process, ours, theirs) && word == expected;
}

std::vector<ViewReport> report_views() {
  std::vector<ViewReport> reports;
  reports.push_back({"same process", true, "for ranks that are threads of one process"});
  reports.push_back(report_heap());
  ViewReport xpmem{"xpmem", false, ""};
  xpmem.works = xpmem::own_segment(xpmem.why) != 0;
  reports.push_back(std::move(xpmem));
  ViewReport cma{"cma", false, ""};
  // A child stands for a peer: it holds the word and waits to be told to go.
  static volatile std::uint64_t word = 1;
  std::array<int, 2> gate{};
  if (::pipe(gate.data()) != 0) throw_errno("pipe");
  const pid_t child = ::fork();
  if (child < 0) throw_errno("fork");
  if (child == 0) {
    ::close(gate[1]);
    char byte = 0;
    [[maybe_unused]] const auto ignored = ::read(gate[0], &byte, 1);
    ::_exit(0);
  }
  ::close(gate[0]);
  const auto address = reinterpret_cast<std::uint64_t>(&word);
  cma.works = has_cma(child, address, 1);
  if (!cma.works) cma.why = fmt::format("process_vm_readv: {}", std::strerror(errno));
  ::close(gate[1]);
  ::waitpid(child, nullptr, 0);
  reports.push_back(std::move(cma));
  reports.push_back({"staged", true, "always, by copies through shared memory"});
  return reports;
}

}  // namespace weft::engine
