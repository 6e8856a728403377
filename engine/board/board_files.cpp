#include "engine/board/board_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>

#include "base/file.hpp"
#include "base/ticks.hpp"
#include "engine/board/board.hpp"
#include "engine/board/reading.hpp"

namespace weft::engine::board {

namespace {
constexpr std::size_t kMostBoard = 256 << 20;
constexpr int kTries = 4;
}  // namespace

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = open == nullptr ? nullptr : ::readdir(open.get())) {
    int number = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto parsed = std::from_chars(entry->d_name, end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<std::string> boards_of(pid_t process) {
  const std::string folder = fmt::format("/proc/{}/fd", process);
  const std::string wanted = fmt::format("/memfd:{} (deleted)", kLabel);
  std::vector<std::string> found;
  for (const int number : numbers_in(folder)) {
    std::string path = fmt::format("{}/{}", folder, number);
    std::array<char, 64> link{};
    const ssize_t length = ::readlink(path.c_str(), link.data(), link.size());
    if (length > 0 && std::string_view(link.data(), static_cast<std::size_t>(length)) == wanted) {
      found.push_back(std::move(path));
    }
  }
  return found;
}

Content::Content(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || status.st_uid != ::geteuid()) return;
  if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) > kMostBoard) return;
  lines_.resize(static_cast<std::size_t>(status.st_size) / sizeof(Line));
  const ssize_t got = ::pread(file.get(), lines_.data(), lines_.size() * sizeof(Line), 0);
  lines_.resize(got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(Line));
}

bool Content::operator==(const Content& other) const {
  return std::ranges::equal(bytes(), other.bytes());
}

Content stable_content(const std::string& path) {
  Content before(path);
  for (int look = 1; look < kTries; ++look) {
    Content now(path);
    if (now == before) break;
    before = std::move(now);
  }
  return before;
}

bool is_number_of(std::int32_t number, pid_t process) {
  if (number == process) return true;
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("NSpid:")) return line.ends_with(fmt::format("\t{}", number));
  }
  return false;
}

Ages::Ages(const Header& header) : now_(ticks()) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t passed_ns =
      std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - header.monotonic_ns;
  if (now_ > header.ticks) {
    seconds_ = static_cast<double>(passed_ns) * 1e-9 / static_cast<double>(now_ - header.ticks);
  }
}

SeenProcess process_state(const ProcessId& process) {
  SeenProcess seen{process.number, 'X', 0};
  std::ifstream file(fmt::format("/proc/{}/stat", process.number));
  std::string line;
  std::getline(file, line);
  // The name of the program, in parentheses, may have any characters.
  const auto end = line.rfind(") ");
  if (end == std::string::npos || end + 2 >= line.size() || is_another(process)) return seen;
  seen.state = line[end + 2];
  seen.cpu_s = static_cast<double>(cpu_ns_of(process.number)) * 1e-9;
  return seen;
}

std::vector<pid_t> processes_with_board() {
  std::vector<pid_t> found;
  for (const int process : numbers_in("/proc")) {
    struct stat status {};
    if (::stat(fmt::format("/proc/{}", process).c_str(), &status) != 0) continue;
    if (status.st_uid == ::geteuid() && !boards_of(process).empty()) found.push_back(process);
  }
  return found;
}

void ask_for_other_nodes(std::span<const pid_t> processes) {
  struct Asked {
    pid_t process;
    std::string path;
    std::size_t at;
    std::uint64_t when;
  };
  std::map<std::uint64_t, int> known;
  for (const SeenCommunicator& seen : look(processes)) {
    known[seen.number] = static_cast<int>(seen.ranks.size());
  }
  std::vector<Asked> asked;
  for (const pid_t process : processes) {
    for (const std::string& path : boards_of(process)) {
      const Content content(path);
      const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
      for_each_posting(content.bytes(), process,
                       [&](const Posting& posting, auto, std::size_t at, const Ages&) {
                         if (posting.waits.load() == 0) return;
                         if (known[value(posting.communicator)] >= posting.size.load()) return;
                         const std::uint64_t now = ticks();
                         const auto place = static_cast<off_t>(at + offsetof(Posting, asked));
                         if (::pwrite(file.get(), &now, sizeof now, place) == sizeof now) {
                           asked.push_back({process, path, at, now});
                         }
                       });
    }
  }
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPatience{800};
  const auto deadline = Clock::now() + kPatience;
  while (!asked.empty() && Clock::now() < deadline) {
    std::erase_if(asked, [](const Asked& one) {
      const File file(::open(one.path.c_str(), O_RDONLY | O_CLOEXEC));
      std::uint64_t answered = 0;
      const auto place = static_cast<off_t>(one.at + offsetof(Posting, answered));
      return ::pread(file.get(), &answered, sizeof answered, place) != sizeof answered ||
             answered >= one.when;
    });
    constexpr useconds_t kPause_us = 5000;
    ::usleep(kPause_us);
  }
}

}  // namespace weft::engine::board
