// Runs the tool, or a copy of it, as a process of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

struct Run {
  std::string input = {};                                             // standard input
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to a small fixed one
  std::filesystem::path directory = {};                               // to run in; empty: this one
  std::string tool = {};                                              // empty: the one just built
  bool closed_output = false;                 // nobody reads standard output
  std::function<void(pid_t)> meanwhile = {};  // called with its process, again and again
};

struct Ended {
  int code = -1;    // exit code; -1 when a signal ended it
  int signal = 0;   // that ended it
  std::string out;  // standard output
  std::string err;  // standard error
};

/// Waits for its end, at most two minutes: then it is killed, and the signal says so. No WEFT_
/// setting of the tests' own environment reaches the tool.
Ended run_tool(const std::vector<std::string>& arguments, const Run& how = {});

/// A folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file, with the folders that lead to it.
  std::filesystem::path write(const std::filesystem::path& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace weft::cli
