#include "mpi/world/post.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "base/give_way.hpp"
#include "engine/node/doorbell.hpp"

namespace weft::mpi {

namespace {

// How often a waiting rank asks before it gives its core away.
constexpr int kTurnsPerYield = 16;
// Of a piece, without its header.
constexpr std::size_t kPieceBytes = 2048;
// How often a waiting rank asks whether the other one is lost.
constexpr std::int64_t kBetweenLooksNs = 1'000'000'000;
// Of messages of the host while it makes the communicator. A program's own of the same tag come
// after them.
constexpr int kMakingTag = 4711;

/// Waits for a request of the host. On a fiber: the host is asked only whether it is done, as the
/// thread may be in a wait of the host already.
void end(MPI_Request& request) noexcept {
  int done = 0;
  while (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    if (!give_way()) ::sched_yield();
  }
}

/// Asks about once a second whether the rank for which another one waits is lost.
class LostWatch {
 public:
  LostWatch(const Post::Lost& lost, int rank) : lost_(lost), rank_(rank) {}

  /// To be called in each turn of the wait. Why nothing will come from the rank; empty: it may.
  std::string look() {
    const std::int64_t now_ns = engine::now_ns();
    if (!lost_ || now_ns < next_look_ns_) return {};
    next_look_ns_ = now_ns + kBetweenLooksNs;
    return lost_(rank_, now_ns - begin_ns_);
  }

 private:
  const Post::Lost& lost_;
  int rank_;
  std::int64_t begin_ns_ = engine::now_ns();
  std::int64_t next_look_ns_ = begin_ns_ + kBetweenLooksNs;
};

void check_call(const char* call, int error) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  PMPI_Error_string(error, text, &length);
  throw Error(
      fmt::format("{}: {}", call, std::string_view(text, static_cast<std::size_t>(length))));
}

}  // namespace

Post::Sending::~Sending() {
  bool is_over = true;
  for (MPI_Request& request : requests_) is_over = post_->finish(request, to_) && is_over;
  if (!is_over) post_->keep(std::move(bytes_));
}

/// Waits for a request; false where the receiver is lost, and the host may never be done with it.
bool Post::finish(MPI_Request& request, int to) noexcept {
  LostWatch watch(lost_, to);
  int done = 0;
  while (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    if (!give_way()) ::sched_yield();
    if (watch.look().empty()) continue;
    PMPI_Request_free(&request);
    return false;
  }
  return true;
}

const char* Post::keep(std::vector<char> bytes) {
  const std::lock_guard lock(kept_mutex_);
  return kept_.emplace_back(std::move(bytes)).data();
}

Post::Post() {
  // Not a duplicate, which would call the program's own attribute copy functions. By the group
  // alone: all other ways are collectives over MPI_COMM_WORLD to Open MPI, whose nonblocking ones
  // have tags in turn, and those of the 24th and 25th are also tags of MPI_Dist_graph_create. Which
  // programs hang by that must not depend on whether weft is there.
  MPI_Group group = MPI_GROUP_NULL;
  check_call("MPI_Comm_group", PMPI_Comm_group(MPI_COMM_WORLD, &group));
  const int error = PMPI_Comm_create_group(MPI_COMM_WORLD, group, kMakingTag, &comm_);
  PMPI_Group_free(&group);
  check_call("MPI_Comm_create_group", error);
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &size_);
  void* most = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
  tags_ = found != 0 ? static_cast<std::uint64_t>(*static_cast<int*>(most)) : 32767;
}

Post::~Post() {
  if (comm_ == MPI_COMM_NULL) return;
  drop_arrived();
  PMPI_Comm_free(&comm_);
}

/// What nobody has asked for: ranks that came late to a meeting. UCX warns of it at its end. Those
/// messages are short, and have come as a whole; to receive a longer one might take its sender.
void Post::drop_arrived() const noexcept {
  constexpr int kShort = 256;
  int is_there = 0;
  MPI_Status status;
  const auto look = [&] {
    return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, &status);
  };
  while (look() == MPI_SUCCESS && is_there != 0) {
    std::array<char, kShort> piece;
    int length = 0;
    PMPI_Get_count(&status, MPI_BYTE, &length);
    if (length > kShort) return;
    PMPI_Recv(piece.data(), length, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_,
              MPI_STATUS_IGNORE);
  }
}

int Post::tag_of(std::uint64_t context) const noexcept {
  return static_cast<int>(context % tags_);
}

Post::Sending Post::send(int to, std::uint64_t context, std::string_view text) {
  const std::size_t pieces =
      std::max<std::size_t>((text.size() + kPieceBytes - 1) / kPieceBytes, 1);
  Sending sending;
  sending.post_ = this;
  sending.to_ = to;
  sending.bytes_.resize(pieces * sizeof(Header) + text.size());
  sending.requests_.reserve(pieces);
  char* next = sending.bytes_.data();
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::string_view piece = text.substr(0, kPieceBytes);
    text.remove_prefix(piece.size());
    const Header header{context, text.size()};
    char* const first = next;
    std::memcpy(first, &header, sizeof header);
    next = std::ranges::copy(piece, first + sizeof header).out;
    sending.requests_.push_back(send_piece(to, std::span(first, next), context));
  }
  return sending;
}

MPI_Request Post::send_piece(int to, std::span<const char> piece, std::uint64_t context) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_call("MPI_Isend", PMPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to,
                                     tag_of(context), comm_, &request));
  return request;
}

void Post::give_up(std::span<const int> to, std::uint64_t context, std::string_view why) {
  const Header header{context, kGivenUp};
  const std::string_view text = why.substr(0, kPieceBytes);
  std::vector<char> bytes(sizeof header + text.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::ranges::copy(text, bytes.begin() + sizeof header);
  const std::size_t size = bytes.size();
  const char* const kept = keep(std::move(bytes));
  for (const int rank : to) {
    if (rank == rank_ || (lost_ && !lost_(rank, 0).empty())) continue;
    // One that is gone may never take it.
    MPI_Request request = send_piece(rank, std::span(kept, size), context);
    PMPI_Request_free(&request);
  }
}

bool Post::take_arrived(const Key& key, std::string& text) {
  const auto found = arrived_.find(key);
  if (found == arrived_.end()) return false;
  Arrived& arrived = found->second;
  if (arrived.messages.empty() && !arrived.given_up.empty()) throw PeerError(arrived.given_up);
  if (arrived.messages.empty()) return false;
  text = std::move(arrived.messages.front());
  arrived.messages.pop_front();
  if (arrived.messages.empty() && arrived.begun.empty() && arrived.given_up.empty())
    arrived_.erase(found);
  return true;
}

/// Receives one piece with the key's tag, if there is one. It may be of another context, too.
bool Post::receive_piece(const Key& key) {
  int is_there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_call("MPI_Improbe",
             PMPI_Improbe(key.first, tag_of(key.second), comm_, &is_there, &message, &status));
  if (is_there == 0) return false;
  int length = 0;
  PMPI_Get_count(&status, MPI_BYTE, &length);
  std::string piece(static_cast<std::size_t>(length), '\0');
  MPI_Request request = MPI_REQUEST_NULL;
  check_call("MPI_Imrecv", PMPI_Imrecv(piece.data(), length, MPI_BYTE, &message, &request));
  end(request);
  Header header;
  if (piece.size() < sizeof header) throw Error("a message of a set-up without a context number");
  std::memcpy(&header, piece.data(), sizeof header);
  Arrived& arrived = arrived_[{key.first, header.context}];
  if (header.rest == kGivenUp) {
    arrived.given_up.assign(piece, sizeof header);
    return true;
  }
  arrived.begun.append(piece, sizeof header);
  if (header.rest != 0) return true;
  arrived.messages.push_back(std::move(arrived.begun));
  arrived.begun.clear();
  return true;
}

/// Takes a message of the key if all of it is there.
bool Post::take(const Key& key, std::string& text) {
  // One at a time: pieces come in order. Others do not wait, as it may be a fiber of their own
  // thread that has given way in the middle.
  if (is_taking_.exchange(true, std::memory_order_acquire)) return false;
  struct Taking {
    std::atomic<bool>& flag;
    ~Taking() { flag.store(false, std::memory_order_release); }
  } taking{is_taking_};
  while (!take_arrived(key, text)) {
    if (!receive_piece(key)) return false;
  }
  return true;
}

std::string Post::receive(int from, std::uint64_t context) {
  const Key key{from, context};
  std::string text;
  LostWatch watch(lost_, from);
  for (int turn = 1; !take(key, text); ++turn) {
    const bool gave_way = give_way();
    if (!gave_way) move_others();
    if (turn % kTurnsPerYield != 0) continue;
    if (!gave_way) ::sched_yield();
    const std::string why = watch.look();
    // What it sent before it ended has arrived by now, if ever.
    if (why.empty()) continue;
    if (take(key, text)) return text;
    throw PeerError(why);
  }
  return text;
}

void Post::progress() {
  if (gives_way()) return;  // whoever runs the fiber does it
  move_others();
  int arrived = 0;
  check_call("MPI_Iprobe", PMPI_Iprobe(MPI_ANY_SOURCE, static_cast<int>(tags_), comm_, &arrived,
                                       MPI_STATUS_IGNORE));
}

}  // namespace weft::mpi
