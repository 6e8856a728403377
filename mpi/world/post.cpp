#include "mpi/world/post.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace weft::mpi {

namespace {

// How often a waiting rank asks before it gives its core away.
constexpr int kTurnsPerYield = 16;

void check_call(const char* call, int error) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  PMPI_Error_string(error, text, &length);
  throw Error(
      fmt::format("{}: {}", call, std::string_view(text, static_cast<std::size_t>(length))));
}

}  // namespace

Post::Sending::Sending(Sending&& other) noexcept
    : bytes_(std::move(other.bytes_)), request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}

Post::Sending::~Sending() {
  if (request_ != MPI_REQUEST_NULL) PMPI_Wait(&request_, MPI_STATUS_IGNORE);
}

Post::Post() {
  // Not a duplicate, which would call the program's own attribute copy functions.
  MPI_Group group = MPI_GROUP_NULL;
  check_call("MPI_Comm_group", PMPI_Comm_group(MPI_COMM_WORLD, &group));
  const int error = PMPI_Comm_create(MPI_COMM_WORLD, group, &comm_);
  PMPI_Group_free(&group);
  check_call("MPI_Comm_create", error);
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &size_);
  void* most = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
  tags_ = found != 0 ? static_cast<std::uint64_t>(*static_cast<int*>(most)) : 32767;
}

Post::~Post() {
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
}

int Post::tag_of(std::uint64_t context) const noexcept {
  return static_cast<int>(context % tags_);
}

Post::Sending Post::send(int to, std::uint64_t context, std::string_view text) {
  Sending sending;
  sending.bytes_.resize(sizeof context + text.size());
  std::memcpy(sending.bytes_.data(), &context, sizeof context);
  std::ranges::copy(text, sending.bytes_.begin() + sizeof context);
  check_call("MPI_Isend", PMPI_Isend(sending.bytes_.data(), static_cast<int>(sending.bytes_.size()),
                                     MPI_BYTE, to, tag_of(context), comm_, &sending.request_));
  return sending;
}

bool Post::take_kept(const Key& key, std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) return false;
  text = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) kept_.erase(found);
  return true;
}

/// Takes one message with the key's tag, if there is one. Another context's is kept for it.
bool Post::take_arrived(const Key& key, std::string& text) {
  // A thread that takes a message of another context keeps it before that context's thread looks
  // again, and none overtakes it.
  const std::lock_guard lock(mutex_);
  int arrived = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_call("MPI_Improbe",
             PMPI_Improbe(key.first, tag_of(key.second), comm_, &arrived, &message, &status));
  if (arrived == 0) return false;
  int length = 0;
  PMPI_Get_count(&status, MPI_BYTE, &length);
  std::string bytes(static_cast<std::size_t>(length), '\0');
  check_call("MPI_Mrecv", PMPI_Mrecv(bytes.data(), length, MPI_BYTE, &message, MPI_STATUS_IGNORE));
  std::uint64_t context = 0;
  if (bytes.size() < sizeof context) throw Error("a message of a set-up without a context number");
  std::memcpy(&context, bytes.data(), sizeof context);
  bytes.erase(0, sizeof context);
  if (context != key.second) {
    kept_[{key.first, context}].push_back(std::move(bytes));
    return false;
  }
  text = std::move(bytes);
  return true;
}

std::string Post::receive(int from, std::uint64_t context) {
  const Key key{from, context};
  std::string text;
  for (int turn = 1; !take_kept(key, text) && !take_arrived(key, text); ++turn) {
    if (turn % kTurnsPerYield == 0) ::sched_yield();
  }
  return text;
}

void Post::progress() {
  int arrived = 0;
  check_call("MPI_Iprobe", PMPI_Iprobe(MPI_ANY_SOURCE, static_cast<int>(tags_), comm_, &arrived,
                                       MPI_STATUS_IGNORE));
}

}  // namespace weft::mpi
