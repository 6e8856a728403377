// Bootstrap over an MPI communicator. Header only: it takes the MPI of the program that includes
// it, and calls the profiling names, so that add-ons that intercept MPI do not see it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/weft.hpp"

namespace weft {

/// Ranks of an intra-communicator, on another of the same group that this owns. Collective to make.
/// Freed with MPI still up (before MPI_Finalize).
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
    if (!finalized && comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> allgather(std::string_view mine) override {
    const Parcel parcel(mine);
    std::vector<Parcel> parcels(static_cast<std::size_t>(size_));
    MPI_Request request = MPI_REQUEST_NULL;
    check_call("MPI_Iallgather", PMPI_Iallgather(&parcel, sizeof parcel, MPI_BYTE, parcels.data(),
                                                 sizeof parcel, MPI_BYTE, comm_, &request));
    wait_for(request);
    if (!std::ranges::all_of(parcels, &Parcel::is_whole)) return allgather_long(mine, parcels);
    std::vector<std::string> result;
    for (const Parcel& one : parcels) result.push_back(one.whole());
    return result;
  }

  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    const std::size_t count = peers.size();
    std::vector<MPI_Request> requests(count);
    for (std::size_t i = 0; i < count; ++i) {
      check_call("MPI_Isend", PMPI_Isend(mine[i].data(), static_cast<int>(mine[i].size()), MPI_BYTE,
                                         peers[i], kTag, comm_, &requests[i]));
    }
    std::vector<std::string> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      MPI_Status status;
      wait_until([&](int* done) {
        check_call("MPI_Iprobe", PMPI_Iprobe(peers[i], kTag, comm_, done, &status));
      });
      int length = 0;
      PMPI_Get_count(&status, MPI_BYTE, &length);
      result[i].resize(static_cast<std::size_t>(length));
      check_call("MPI_Recv", PMPI_Recv(result[i].data(), length, MPI_BYTE, peers[i], kTag, comm_,
                                       MPI_STATUS_IGNORE));
    }
    for (MPI_Request& request : requests) wait_for(request);
    return result;
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

  // The length of what a rank gives and, if it is short, all of it: most of what ranks tell one
  // another takes one round of the host's then, not two.
  struct Parcel {
    static constexpr std::size_t kShort = 60;
    int length = 0;
    char text[kShort] = {};

    Parcel() = default;
    explicit Parcel(std::string_view whole) : length(static_cast<int>(whole.size())) {
      whole.copy(text, kShort);
    }
    bool is_whole() const { return static_cast<std::size_t>(length) <= kShort; }
    std::string whole() const { return std::string(text, static_cast<std::size_t>(length)); }
  };

  std::vector<std::string> allgather_long(std::string_view mine,
                                          const std::vector<Parcel>& parcels) {
    std::vector<int> lengths, begin;
    int total = 0;
    for (const Parcel& parcel : parcels) {
      lengths.push_back(parcel.length);
      begin.push_back(total);
      total += parcel.length;
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    MPI_Request request = MPI_REQUEST_NULL;
    check_call("MPI_Iallgatherv",
               PMPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(),
                                lengths.data(), begin.data(), MPI_BYTE, comm_, &request));
    wait_for(request);
    std::vector<std::string> result;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      result.push_back(
          all.substr(static_cast<std::size_t>(begin[i]), static_cast<std::size_t>(lengths[i])));
    }
    return result;
  }

  // By tests, as hosts that wait in calls of their own may keep the core to themselves (MPICH).
  // Ranks may wait long, for others that measure.
  template <class Test>
  static void wait_until(Test test) {
    constexpr int kTestsPerYield = 16;
    constexpr int kTestsBeforeSleep = 20'000;
    int done = 0;
    for (int turn = 1; test(&done), done == 0; ++turn) {
      if (turn > kTestsBeforeSleep) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else if (turn % kTestsPerYield == 0) {
        std::this_thread::yield();
      }
    }
  }
  static void wait_for(MPI_Request& request) {
    wait_until(
        [&](int* done) { check_call("MPI_Test", PMPI_Test(&request, done, MPI_STATUS_IGNORE)); });
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
};

inline std::unique_ptr<Bootstrap> mpi_bootstrap(MPI_Comm comm) {
  return std::make_unique<MpiBootstrap>(comm);
}

}  // namespace weft
