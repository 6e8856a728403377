#include "engine/views/view.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "engine/heap/heap.hpp"
#include "engine/views/cma.hpp"
#include "engine/views/xpmem.hpp"

namespace weft::engine {

namespace {

/// Makes a heap and opens it as a peer would.
ViewReport report_heap() {
  ViewReport report{"shared heap", false, heap::start(0)};
  if (!report.why.empty()) return report;
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), heap::descriptor());
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  report.works = static_cast<bool>(file);
  report.why = file ? fmt::format(
                          "of up to {} GiB with WEFT_SHARED_HEAP=1; for long blocks of MPI "
                          "programs by itself",
                          heap::range.bytes >> 30)
                    : SystemError(fmt::format("open({})", path), errno).what();
  return report;
}

/// Ranks are children of one launcher, so a child tries it on another child: of its own children a
/// process may read more (Yama).
ViewReport report_cma() {
  static volatile std::uint64_t word = 1;  // the peer's
  const auto start = [](auto act) {
    const pid_t child = ::fork();
    if (child < 0) throw_errno("fork");
    if (child == 0) ::_exit(act());
    return child;
  };
  std::array<int, 2> gate{};
  if (::pipe2(gate.data(), O_CLOEXEC) != 0) throw_errno("pipe");
  const File held(gate[0]);
  File opens(gate[1]);
  const pid_t peer = start([&] {
    opens.reset();  // or it would wait for itself
    char byte = 0;
    return static_cast<int>(::read(held.get(), &byte, 1));
  });
  const pid_t reader = start([&] {
    errno = 0;
    if (has_cma(peer, reinterpret_cast<std::uint64_t>(&word), 1)) return 0;
    return errno == 0 ? EIO : errno;
  });
  int status = 0;
  ::waitpid(reader, &status, 0);
  opens.reset();
  ::waitpid(peer, nullptr, 0);
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
  if (error == 0) return {"cma", true, ""};
  return {"cma", false, fmt::format("process_vm_readv: {}", std::strerror(error))};
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

std::vector<ViewReport> report_views() {
  std::vector<ViewReport> reports;
  reports.push_back({"same process", true, "for ranks that are threads of one process"});
  reports.push_back(report_heap());
  ViewReport xpmem{"xpmem", false, ""};
  xpmem.works = xpmem::own_segment(xpmem.why) != 0;
  reports.push_back(std::move(xpmem));
  reports.push_back(report_cma());
  reports.push_back({"staged", true, "always, by copies through shared memory"});
  return reports;
}

}  // namespace weft::engine
