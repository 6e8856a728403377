#include "mpi/world/recorded_communicator.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::mpi {

namespace {

RecordedCommunicator describe(const World& world, const Attached& attached) {
  RecordedCommunicator one;
  one.context = attached.lineage.context;
  one.ranks = static_cast<std::uint32_t>(attached.size);
  one.rank = static_cast<std::uint32_t>(attached.rank);
  one.two_groups = attached.why == Passed::intercommunicator &&
                   attached.state == Attached::State::passed_through;
  const std::vector<int> members = world.members_of(attached.comm);
  for (const int member : members) {
    // The finalizer of SplitMix64.
    std::uint64_t x = (one.digest ^ static_cast<unsigned>(member)) + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    one.digest = x ^ x >> 31;
  }
  one.nodes = static_cast<std::uint32_t>(world.shape_of(members).nodes);
  if (one.nodes != 0) one.members = runs_of(members);
  return one;
}

/// The job's file while rank 0 writes it.
class JobFile {
 public:
  explicit JobFile(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (!file_) throw_errno("open(" + path + ")");
    append(recording_head());
  }

  void append(std::string_view bytes) {
    if (!write_all(file_.get(), bytes)) throw_errno("write");
  }

 private:
  File file_;
};

constexpr std::string_view kWritten = "written";

/// Why the file could not be written; empty: it was.
std::string write_all_ranks(Post& post, const std::string& path, const std::string& mine) {
  std::string failure;
  std::optional<JobFile> file;
  const auto attempt = [&](auto step) {
    if (!failure.empty()) return;
    try {
      step();
    } catch (const SystemError& error) {
      failure = error.what();
    }
  };
  attempt([&] {
    file.emplace(path);
    file->append(mine);
  });
  // Each sends when it is asked: all at once would fill the first rank's memory.
  for (int rank = 1; rank < post.size(); ++rank) {
    const Post::Sending question = post.send(rank, 0, failure);
    const std::string bytes = post.receive(rank, 0);
    attempt([&] { file->append(bytes); });
  }
  for (int rank = 1; rank < post.size(); ++rank) {
    const Post::Sending end = post.send(rank, 0, failure.empty() ? kWritten : failure);
  }
  return failure;
}

/// The same on another rank.
std::string send_recording(Post& post, const std::string& mine) {
  const std::string failure = post.receive(0, 0);
  { const Post::Sending sending = post.send(0, 0, failure.empty() ? mine : ""); }
  const std::string end = post.receive(0, 0);
  return end == kWritten ? "" : end;
}

}  // namespace

std::optional<std::uint32_t> recorded_communicator(Recorder& recorder, const World& world,
                                                   Attached& attached) {
  InRecording& recording = attached.recording();
  if (!recording.number) recording.number = recorder.add(describe(world, attached));
  return *recording.number;
}

void gather_recording(Recorder& recorder, Post& post, const std::string& path,
                      const std::map<std::string, std::string>& facts) {
  const std::string mine = recorder.finish(facts);
  std::string failure;
  try {
    failure = post.rank() == 0 ? write_all_ranks(post, path, mine) : send_recording(post, mine);
  } catch (const PeerError& error) {
    failure = error.what();
  }
  if (failure.empty()) return recorder.remove_part();
  const bool kept = recorder.keep_part();
  if (post.rank() != 0 && kept) return;
  print_line(fmt::format("WEFT_TRACE={}: {}; {}", path, failure,
                         kept ? "what each rank has is in the file with .part and its number"
                              : "nor could a part be kept"));
}

}  // namespace weft::mpi
