// Ways to run the ranks of a program.
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
};

/// The environment of a rank: this process's, and what weft::tcp_bootstrap() asks for.
/// "NAME=value".
std::vector<std::string> environment_of(const Launch& launch, int rank);

/// Both return what the tool ends with: 0 when all ranks did, else what the first rank that failed
/// ended with (128 and the signal's number where a signal ended it). The others are ended then.
int run_processes(const Launch& launch);

/// The most ranks of one address space: glibc has so many namespaces beside the tool's own.
inline constexpr int kMostNamespaces = 15;

/// Ranks are threads of this process, each with the program and all its libraries of its own, and
/// one memory. Once, as what they loaded stays. May start this tool anew, for settings of glibc
/// that are read at the beginning of a process.
int run_in_one_address_space(const Launch& launch);

}  // namespace weft::cli
