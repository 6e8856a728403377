#include "cli/stuck/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/board/reading.hpp"

namespace weft::cli {

namespace {

namespace board = engine::board;

// Where launchers put the name of a job.
constexpr std::string_view kJobVariables[] = {"SLURM_JOB_ID",
                                              "SLURM_JOBID",
                                              "PBS_JOBID",
                                              "LSB_JOBID",
                                              "JOB_ID",
                                              "PMIX_NAMESPACE",
                                              "OMPI_MCA_ess_base_jobid",
                                              "PMI_KVS",
                                              "WEFT_ROOT"};

std::string text_of(pid_t process, const char* file) {
  std::ifstream in(fmt::format("/proc/{}/{}", process, file), std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

pid_t parent_of(pid_t process) {
  std::istringstream status(text_of(process, "status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
  }
  return 0;
}

bool descends_from(pid_t process, pid_t ancestor) {
  while (process > 1 && process != ancestor) process = parent_of(process);
  return process == ancestor;
}

bool is_of_job(pid_t process, const std::string& job) {
  const std::string environment = text_of(process, "environ");
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const auto variable = std::string_view(environment).substr(at, end - at);
    const auto equals = variable.find('=');
    at = end + 1;
    if (equals == std::string_view::npos || variable.substr(equals + 1) != job) continue;
    if (std::ranges::find(kJobVariables, variable.substr(0, equals)) != std::end(kJobVariables))
      return true;
  }
  return false;
}

/// Those in a communicator with the process, and so on.
std::vector<pid_t> with_peers(pid_t process, const std::vector<pid_t>& all) {
  std::set<pid_t> reached{process};
  const auto communicators = board::look(all);
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& communicator : communicators) {
      const auto is_reached = [&](const auto& rank) {
        return reached.contains(rank.process.number);
      };
      if (std::ranges::none_of(communicator.ranks, is_reached)) continue;
      for (const auto& rank : communicator.ranks) reached.insert(rank.process.number);
    }
  }
  return {reached.begin(), reached.end()};
}

}  // namespace

std::vector<pid_t> processes_of(const Text& job) {
  std::vector<pid_t> all = board::processes_with_board();
  if (!job) return all;
  pid_t number = 0;
  const char* end = job->data() + job->size();
  const auto parsed = std::from_chars(job->data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  if (is_number && std::ranges::binary_search(all, number)) return with_peers(number, all);
  std::vector<pid_t> found;
  for (const pid_t process : all) {
    if ((is_number && descends_from(process, number)) || is_of_job(process, *job)) {
      found.push_back(process);
    }
  }
  return found;
}

}  // namespace weft::cli
