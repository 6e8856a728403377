// Socket of a process, a part of detection: read from the kernel's files of one CPU. hwloc would
// read those of all CPUs first, some twenty each, and every program that weft is loaded under would
// wait for it at its start.
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <span>
#include <string>

#include "base/error.hpp"
#include "hierarchy/detect.hpp"

namespace weft::hierarchy {

namespace {

constexpr int kMostCaches = 16;  // of a CPU; there are four or five
constexpr std::string_view kLastLevel = "3";

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool contains(std::string_view mask, std::size_t cpu) {
  const std::size_t byte = cpu / 8;
  return byte < mask.size() && (static_cast<unsigned char>(mask[byte]) >> cpu % 8 & 1) != 0;
}

/// The first CPU of a list such as "0-3,8,10-11" that has all CPUs of the mask; else -1.
int first_of_all(std::string_view list, std::string_view mask) {
  int first = -1;
  std::string left(mask);
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    std::size_t from = 0;
    auto parsed = std::from_chars(at, end, from);
    std::size_t to = from;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, to);
    }
    if (parsed.ec != std::errc() || to < from) return -1;
    if (first < 0) first = static_cast<int>(from);
    for (std::size_t cpu = from; cpu <= to && cpu / 8 < left.size(); ++cpu) {
      left[cpu / 8] = static_cast<char>(left[cpu / 8] & ~(1 << cpu % 8));
    }
    at = parsed.ptr;
    if (at != end && *at++ != ',') return -1;
  }
  return left.find_first_not_of('\0') == left.npos ? first : -1;
}

std::string list_of_last_cache(const std::string& cpu) {
  for (int cache = 0; cache < kMostCaches; ++cache) {
    const std::string folder = fmt::format("{}/cache/index{}", cpu, cache);
    const std::string level = line_of(folder + "/level");
    if (level.empty()) break;
    if (level == kLastLevel) return line_of(folder + "/shared_cpu_list");
  }
  return {};
}

}  // namespace

std::string socket_identity() {
  const std::string mask = affinity_mask();
  // A rank that may run on all CPUs is in no single socket, or in the only one.
  if (cores_of(std::span(&mask, 1), 0).bound >= sysconf(_SC_NPROCESSORS_ONLN)) return "-1 -1";
  return socket_identity("/sys/devices/system/cpu", mask);
}

std::string socket_identity(const std::string& cpus, std::string_view mask) {
  std::size_t first = 0;
  while (first / 8 < mask.size() && !contains(mask, first)) ++first;
  const std::string cpu = fmt::format("{}/cpu{}", cpus, first);
  const int package = first_of_all(line_of(cpu + "/topology/core_siblings_list"), mask);
  return fmt::format("{} {}", package, first_of_all(list_of_last_cache(cpu), mask));
}

}  // namespace weft::hierarchy
