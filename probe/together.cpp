#include "probe/together.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::probe {

namespace {

// How it went, before what came of it.
constexpr char kDone = '+';
constexpr char kUsage = 'u';
constexpr char kFailed = 'e';
constexpr char kGivenUp = 'g';

std::string attempt(const std::function<std::string()>& work) {
  try {
    return kDone + work();
  } catch (const UsageError& error) {
    return kUsage + std::string(error.what());
  } catch (const GivenUp& error) {
    return kGivenUp + std::string(error.what());
  } catch (const std::exception& error) {
    return kFailed + std::string(error.what());
  }
}

}  // namespace

std::vector<std::string> together(Bootstrap& bootstrap, const std::function<std::string()>& work) {
  std::vector<std::string> all = bootstrap.allgather(attempt(work));
  // The cause before what follows from it.
  for (const char how : {kUsage, kFailed, kGivenUp}) {
    const auto found = std::ranges::find_if(all, [&](const auto& one) { return one[0] == how; });
    if (found == all.end()) continue;
    const std::string text = found->substr(1);
    if (how == kUsage) throw UsageError(text);
    throw PeerError(fmt::format("rank {}: {}", found - all.begin(), text));
  }
  for (std::string& one : all) one.erase(0, 1);
  return all;
}

}  // namespace weft::probe
