#include "engine/views/view.hpp"

#include <fcntl.h>
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

std::vector<ViewReport> report_views() {
  std::vector<ViewReport> reports;
  reports.push_back({"same process", true, "for ranks that are threads of one process"});
  reports.push_back(report_heap());
  ViewReport xpmem{"xpmem", false, ""};
  xpmem.works = xpmem::own_segment(xpmem.why) != 0;
  reports.push_back(std::move(xpmem));
  ViewReport cma{"cma", false, ""};
  // A child plays the peer: it holds the word until the pipe is closed.
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
