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
  bool closed_output = false;                 // standard output is a pipe without a reader
  std::function<void(pid_t)> meanwhile = {};  // called repeatedly with its process
};

struct Ended {
  int code = -1;    // exit code; -1 when a signal ended it
  int signal = 0;   // the signal that ended it; 0: none
  std::string out;  // standard output
  std::string err;  // standard error
};

/// Waits for the end of the tool, at most two minutes: then it is killed, as `signal` shows. WEFT_
/// settings in the environment of the tests are not passed on.
Ended run_tool(const std::vector<std::string>& arguments, const Run& how = {});

/// A temporary folder, removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file and creates the folders of its path.
  std::filesystem::path write(const std::filesystem::path& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace weft::cli
