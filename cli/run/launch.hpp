// Launching the ranks of a program: as processes, or as threads of one process.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

struct Launch {
  int ranks = 1;
  std::string program;                 // a path
  std::vector<std::string> arguments;  // the first is the program's name
  std::string root;                    // WEFT_ROOT
  std::string secret;                  // WEFT_SECRET_FILE
};

/// The environment of a rank, as "NAME=value": this process's, with the variables that
/// weft::tcp_bootstrap() reads.
std::vector<std::string> environment_of(const Launch& launch, int rank);

/// Both return the exit code of the tool: 0 when all ranks succeeded, else that of the first rank
/// that failed (128 and the signal's number where a signal ended it). The other ranks are ended
/// then.
int run_processes(const Launch& launch);

/// Maximum number of ranks in one address space: glibc has 16 namespaces, one of them the tool's.
inline constexpr int kMostNamespaces = 15;

/// Runs ranks as threads of this process, each with its own copy of the program and its libraries,
/// in a common address space. To be called once, as loaded copies stay. May execute this tool
/// again, since glibc reads some settings only at the start of a process.
int run_in_one_address_space(const Launch& launch);

}  // namespace weft::cli
