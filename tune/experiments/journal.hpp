// Journal: a file with the measurements of a tuning, so that one that was ended goes on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "tune/experiments/experiment.hpp"

namespace weft::tune {

/// Lines of JSON: the first says what was measured, each other one is a measurement. A line is on
/// the disk before add() returns. What a kill left of a last line is cut off at the next opening.
class Journal {
 public:
  /// Opens or begins the file. `about` is all on which times depend beside the experiment.
  /// UsageError where the file is a journal about something else, or no journal, or where another
  /// process has it open; SystemError where it cannot be read or written.
  Journal(std::string path, const std::string& about);

  /// What was measured before the file was opened, in that order.
  const std::vector<std::pair<Experiment, double>>& known() const { return known_; }
  /// SystemError where it cannot be written.
  void add(const Experiment& experiment, double seconds);

 private:
  void read(const std::string& text, const std::string& about);
  void append(const std::string& line);

  std::string path_;
  File file_;
  std::vector<std::pair<Experiment, double>> known_;
};

}  // namespace weft::tune
