// Bootstrap over an MPI communicator. Header only: it takes the MPI of the program that includes
// it, and calls the profiling names, so that add-ons that intercept MPI do not see it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weft/weft.hpp"

namespace weft {

/// Ranks of an intra-communicator, on another of the same group that this owns. Collective to make.
/// Freed with MPI still up (before MPI_Finalize).
///
/// All goes by short messages and probes, not by MPI's collectives: those could not be left by a
/// rank that hears that another one has given up.
class MpiBootstrap final : public Bootstrap {
 public:
  explicit MpiBootstrap(MPI_Comm comm) {
    // Not a duplicate, which would call the program's own attribute copy functions.
    MPI_Group group = MPI_GROUP_NULL;
    check_call("MPI_Comm_group", PMPI_Comm_group(comm, &group));
    const int error = PMPI_Comm_create(comm, group, &comm_);
    PMPI_Group_free(&group);
    check_call("MPI_Comm_create", error);
    // Errors come back as codes, to be thrown with the call's name.
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &size_);
  }
  MpiBootstrap(const MpiBootstrap&) = delete;
  MpiBootstrap& operator=(const MpiBootstrap&) = delete;
  ~MpiBootstrap() override {
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (finalized || comm_ == MPI_COMM_NULL) return;
    // Where a rank has given up, messages may still come that nobody takes. They must not come to
    // another communicator that the host has put in this one's place, so it stays.
    if (!take_rest() && given_up_.empty()) PMPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> allgather(std::string_view mine) override {
    return tell_failure([&] { return gather_from_all(mine); });
  }
  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    return tell_failure([&] {
      std::list<Sending> sendings;
      for (std::size_t i = 0; i < peers.size(); ++i) send(sendings, peers[i], mine[i]);
      std::vector<std::string> result;
      for (const int peer : peers) result.push_back(receive(peer));
      for (Sending& sending : sendings) finish(sending);
      return result;
    });
  }

  void give_up(std::string_view why) override {
    if (!given_up_.empty()) return;
    given_up_ = why.empty() ? "a rank has given up" : why.substr(0, kPieceBytes);
    std::list<Sending> sendings;
    for (int rank = 0; rank < size_; ++rank) {
      // One that is gone may never take it.
      if (rank != rank_) send(sendings, rank, given_up_, kGivenUpTag);
    }
  }

  // The host MPI moves only inside its own calls. A rank that waits here may owe another one the
  // rest of a message that the program began before (MPI_Isend, then a collective): without this
  // the two would wait for one another. A large message moves on a piece at a time.
  void progress() override {
    int arrived = 0;
    check_call("MPI_Iprobe", PMPI_Iprobe(MPI_ANY_SOURCE, kTag, comm_, &arrived, MPI_STATUS_IGNORE));
  }

 private:
  static constexpr int kTag = 0x3ef7;
  static constexpr int kGivenUpTag = 0x3ef8;
  // Of a piece, without its header: no host sends it by a protocol in which the receiver has a
  // part, so a rank that does not come for it holds up nobody.
  static constexpr std::size_t kPieceBytes = 2048;

  // What precedes each piece.
  struct Header {
    std::uint64_t rest = 0;  // bytes of the message in pieces that follow
  };

  // Bytes that MPI may read to the end. Communicators of several threads may fail at once.
  struct Kept {
    std::mutex mutex;
    std::list<std::vector<char>> bytes;

    static Kept& of_process() {
      static auto& one = *new Kept;
      return one;
    }
  };

  // A message on its way. What MPI has not taken when it is left is kept for good.
  class Sending {
   public:
    Sending(std::vector<char> bytes, std::size_t pieces) : kept_(Kept::of_process()) {
      bytes_.push_back(std::move(bytes));
      requests_.reserve(pieces);
    }
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;
    ~Sending() {
      if (is_over()) return;
      for (MPI_Request& request : requests_) {
        if (request != MPI_REQUEST_NULL) PMPI_Request_free(&request);
      }
      const std::lock_guard lock(kept_.mutex);
      kept_.bytes.splice(kept_.bytes.end(), bytes_);
    }
    bool is_over() {
      int all = 0;
      return PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all,
                          MPI_STATUSES_IGNORE) != MPI_SUCCESS ||
             all != 0;
    }
    MPI_Request& add() { return requests_.emplace_back(MPI_REQUEST_NULL); }
    char* bytes() { return bytes_.front().data(); }

   private:
    Kept& kept_;
    std::list<std::vector<char>> bytes_;  // of all pieces: one
    std::vector<MPI_Request> requests_;
  };

  // Runs a call. Where it fails on this rank, the others are told.
  template <class Body>
  std::vector<std::string> tell_failure(Body body) {
    if (!given_up_.empty()) throw PeerError(given_up_);
    try {
      return body();
    } catch (const std::exception& error) {
      give_up(error.what());
      throw;
    }
  }

  // Each rank gathers the texts of those behind it: in each round as many again, from the first
  // rank whose text it lacks.
  std::vector<std::string> gather_from_all(std::string_view mine) {
    const auto ranks = static_cast<std::size_t>(size_);
    std::vector<std::string> texts = {std::string(mine)};
    std::list<Sending> sendings;
    while (texts.size() < ranks) {
      const auto distance = static_cast<int>(texts.size());
      const std::size_t count = std::min(texts.size(), ranks - texts.size());
      send(sendings, (rank_ + size_ - distance) % size_, joined({texts.data(), count}));
      split(receive((rank_ + distance) % size_), texts);
    }
    for (Sending& sending : sendings) finish(sending);
    std::rotate(texts.begin(), texts.end() - rank_, texts.end());
    return texts;
  }
  static std::string joined(std::span<const std::string> texts) {
    std::string all;
    for (const std::string& text : texts) {
      const std::uint64_t length = text.size();
      all.append(reinterpret_cast<const char*>(&length), sizeof length);
      all.append(text);
    }
    return all;
  }
  static void split(std::string_view all, std::vector<std::string>& texts) {
    while (!all.empty()) {
      std::uint64_t length = 0;
      if (all.size() < sizeof length) throw Error("a message of a bootstrap ends early");
      std::memcpy(&length, all.data(), sizeof length);
      all.remove_prefix(sizeof length);
      if (all.size() < length) throw Error("a message of a bootstrap ends early");
      texts.emplace_back(all.substr(0, length));
      all.remove_prefix(length);
    }
  }

  void send(std::list<Sending>& sendings, int to, std::string_view text, int tag = kTag) {
    const std::size_t pieces =
        std::max<std::size_t>((text.size() + kPieceBytes - 1) / kPieceBytes, 1);
    Sending& sending =
        sendings.emplace_back(std::vector<char>(pieces * sizeof(Header) + text.size()), pieces);
    char* next = sending.bytes();
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::string_view piece = text.substr(0, kPieceBytes);
      text.remove_prefix(piece.size());
      const Header header{text.size()};
      char* const first = next;
      std::memcpy(first, &header, sizeof header);
      next = std::ranges::copy(piece, first + sizeof header).out;
      check_call("MPI_Isend", PMPI_Isend(first, static_cast<int>(next - first), MPI_BYTE, to, tag,
                                         comm_, &sending.add()));
    }
  }
  std::string receive(int from) {
    std::string text;
    Header header{.rest = 1};
    while (header.rest != 0) {
      wait_until([&] { return take_piece(from, kTag, header, text); });
    }
    return text;
  }
  void finish(Sending& sending) {
    wait_until([&] { return sending.is_over(); });
  }

  // Takes a piece that is there; false: there is none.
  bool take_piece(int from, int tag, Header& header, std::string& text) {
    int is_there = 0;
    MPI_Status status;
    check_call("MPI_Iprobe", PMPI_Iprobe(from, tag, comm_, &is_there, &status));
    if (is_there == 0) return false;
    int length = 0;
    PMPI_Get_count(&status, MPI_BYTE, &length);
    std::string piece(static_cast<std::size_t>(length), '\0');
    check_call("MPI_Recv", PMPI_Recv(piece.data(), length, MPI_BYTE, status.MPI_SOURCE, tag, comm_,
                                     MPI_STATUS_IGNORE));
    if (piece.size() < sizeof header) throw Error("a message of a bootstrap without its length");
    std::memcpy(&header, piece.data(), sizeof header);
    text.append(piece, sizeof header);
    return true;
  }

  // Takes what is there and nobody waits for; whether there was anything.
  bool take_rest() noexcept {
    bool was_any = false;
    int is_there = 0;
    MPI_Status status;
    while (PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, &status) == MPI_SUCCESS &&
           is_there != 0) {
      was_any = true;
      char piece[sizeof(Header) + kPieceBytes];
      PMPI_Recv(piece, sizeof piece, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_,
                MPI_STATUS_IGNORE);
    }
    return was_any;
  }

  void require_none_given_up() {
    Header header;
    std::string why;
    if (!take_piece(MPI_ANY_SOURCE, kGivenUpTag, header, why)) return;
    given_up_ = std::move(why);
    throw PeerError(given_up_);
  }

  // By tests, as hosts that wait in calls of their own may keep the core to themselves (MPICH).
  // Ranks may wait long, for others that measure.
  template <class Test>
  void wait_until(Test test) {
    constexpr int kTestsPerYield = 16;
    constexpr int kTestsBeforeSleep = 20'000;
    for (int turn = 1; !test(); ++turn) {
      if (turn % kTestsPerYield == 0) require_none_given_up();
      if (turn > kTestsBeforeSleep) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else if (turn % kTestsPerYield == 0) {
        std::this_thread::yield();
      }
    }
  }

  static void check_call(std::string_view call, int error) {
    if (error == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    PMPI_Error_string(error, text, &length);
    throw Error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::string given_up_;  // why there will be no further call; empty: there may be
};

inline std::unique_ptr<Bootstrap> mpi_bootstrap(MPI_Comm comm) {
  return std::make_unique<MpiBootstrap>(comm);
}

}  // namespace weft
