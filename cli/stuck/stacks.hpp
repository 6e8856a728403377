// Stacks of processes, by eu-stack or gdb where one of them is there.
#pragma once

#include <sys/types.h>

#include <string>

namespace weft::cli {

/// Which program reads stacks.
struct StackReader {
  enum class Kind : std::uint8_t { none, eu_stack, gdb } kind = Kind::none;
  std::string path;
  explicit operator bool() const { return kind != Kind::none; }
};

/// Looks along PATH.
StackReader find_stack_reader();

/// What it prints about the process, at most so much as people read; empty where it is refused or
/// takes longer than some seconds. It stops the process for that time.
std::string read_stack(const StackReader& reader, pid_t process);

/// The same as lines of a report.
std::string stack_lines(const StackReader& reader, pid_t process);

}  // namespace weft::cli
