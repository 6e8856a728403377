#include "tune/experiments/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace weft::tune {

namespace {

using nlohmann::json;

constexpr int kSchema = 1;

std::string read_all(int file, const std::string& path) {
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t bytes = ::read(file, piece, sizeof piece);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) throw_errno("read(" + path + ")");
    if (bytes == 0) return text;
    text.append(piece, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

Journal::Journal(std::string path, const std::string& about)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (!file_) throw_errno("open(" + path_ + ")");
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw_errno("flock(" + path_ + ")");
    throw_usage("{}: another tuning is writing it", path_);
  }
  const std::string text = read_all(file_.get(), path_);
  const auto end = text.rfind('\n');
  const std::size_t whole = end == text.npos ? 0 : end + 1;
  // A file without a whole line is a journal only as far as it is the beginning of this one.
  const std::string head = json{{"schema", kSchema}, {"about", about}}.dump() + "\n";
  if (whole == 0 && !head.starts_with(text)) {
    throw_usage("{}: is no journal of a tuning", path_);
  }
  read(text.substr(0, whole), about);
  if (whole < text.size() && ::ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) {
    throw_errno("ftruncate(" + path_ + ")");
  }
  if (whole == 0) append(head);
}

void Journal::read(const std::string& text, const std::string& about) {
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const json line = json::parse(text.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    ++number;
    try {
      if (number == 1) {
        if (line.at("schema").get<int>() != kSchema || line.at("about") != about) {
          throw_usage(
              "{}: is of a tuning for another collective, machine, adapter or element, or of "
              "another version: name another file, or remove it",
              path_);
        }
        continue;
      }
      const auto name = line.at("collective").get<std::string>();
      const double seconds = line.at("seconds").get<double>();
      if (!std::isfinite(seconds) || seconds < 0) {
        throw_usage("{}:{}: seconds = {}: must be 0 or more", path_, number, seconds);
      }
      known_.push_back(
          {{plan::parse_collective(name), line.at("bytes").get<std::uint64_t>(),
            line.at("method").get<std::string>(), line.at("segment").get<std::uint64_t>()},
           seconds});
    } catch (const json::exception&) {
      throw_usage("{}:{}: is no line of a tuning's journal", path_, number);
    }
  }
}

void Journal::add(const Experiment& experiment, double seconds) {
  append(json{{"collective", to_string(experiment.collective)},
              {"bytes", experiment.bytes},
              {"method", experiment.method},
              {"segment", experiment.segment},
              {"seconds", seconds}}
             .dump() +
         "\n");
}

void Journal::append(const std::string& line) {
  if (!write_all(file_.get(), line)) throw_errno("write(" + path_ + ")");
  if (::fsync(file_.get()) != 0 && errno != EINVAL) throw_errno("fsync(" + path_ + ")");
}

}  // namespace weft::tune
