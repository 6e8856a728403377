// Plugin of the tool: the collectives of this MPI, by one of its algorithms at a time.
#include "tune/hosts/host_job.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>

#include "mpi/launch/host_buffers.hpp"
#include "mpi/launch/host_variables.hpp"
#include "mpi/launch/job.hpp"
#include "mpi/launch/ordered_check.hpp"

namespace weft {

namespace {

using tune::MeasuredCall;

class ThisJob final : public tune::HostJob {
 public:
  ThisJob() : job_(prepared()) {
    PMPI_Comm_dup(MPI_COMM_WORLD, &barrier_);
    PMPI_Comm_rank(barrier_, &rank_);
    PMPI_Comm_size(barrier_, &ranks_);
  }
  ThisJob(const ThisJob&) = delete;
  ThisJob& operator=(const ThisJob&) = delete;
  ~ThisJob() override {
    try {
      free_comm();
    } catch (const std::exception&) {  // what is set goes with the process
    }
    PMPI_Comm_free(&barrier_);
  }

  Bootstrap& bootstrap() override { return *job_; }

  std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    PMPI_Get_library_version(text, &length);
    std::string version(text, static_cast<std::size_t>(length));
    version.resize(std::min({version.size(), version.find('\n'), version.find(',')}));
    // MPICH: "MPICH Version:    4.0.2".
    const auto colon = version.find(" Version:");
    if (colon == version.npos) return version;
    const auto number = version.find_first_not_of(" \t", colon + 9);
    return version.substr(0, colon) + ' ' + version.substr(std::min(number, version.size()));
  }

  std::string library() const override {
    Dl_info found;
    const bool is_found = ::dladdr(reinterpret_cast<void*>(&PMPI_Init), &found) != 0;
    return is_found ? found.dli_fname : "";
  }

  std::string host() const override {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    PMPI_Get_processor_name(name, &length);
    return {name, static_cast<std::size_t>(length)};
  }

  std::vector<std::string> algorithms(const std::string& collective) const override {
    if (!HostBuffers::knows(collective)) return {};
    return variables_.algorithms(collective);
  }

  bool prepare(const MeasuredCall& call) override {
    make_comm(call);
    buffers_.emplace(call.collective, call.bytes, ranks_);
    return buffers_->call(comm_) == MPI_SUCCESS;
  }

  std::vector<double> run(int calls) override {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (int i = 0; i < calls; ++i) {
      meet();
      const auto begin = Clock::now();
      const int error = buffers_->call(comm_);
      const auto end = Clock::now();
      if (error != MPI_SUCCESS) throw Error("a call of the MPI failed that it had done before");
      times.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
    }
    return times;
  }

  bool keeps_order(const MeasuredCall& call) override {
    make_comm(call);
    return weft::keeps_order(call.collective, call.bytes, comm_);
  }

 private:
  static std::unique_ptr<Job> prepared() {
    prepare_environment();
    return std::make_unique<Job>();
  }

  /// Of its algorithm, as the MPI's variables have it; 0: by its own rules.
  int number_of(const MeasuredCall& call) const {
    if (call.algorithm.empty()) return 0;
    const auto names = algorithms(call.collective);
    return static_cast<int>(std::ranges::find(names, call.algorithm) - names.begin());
  }

  void free_comm() {
    variables_.reset();
    if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
  }

  void make_comm(const MeasuredCall& call) {
    free_comm();
    // Making a communicator takes collectives of the MPI's own.
    if (!HostVariables::counts_at_making()) PMPI_Comm_dup(barrier_, &comm_);
    if (!call.untouched) variables_.set(call.collective, number_of(call), call.segment);
    if (HostVariables::counts_at_making()) PMPI_Comm_dup(barrier_, &comm_);
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }

  /// A barrier by messages alone, whatever the collectives are set to.
  void meet() const {
    for (int distance = 1; distance < ranks_; distance *= 2) {
      PMPI_Sendrecv(nullptr, 0, MPI_BYTE, (rank_ + distance) % ranks_, 0, nullptr, 0, MPI_BYTE,
                    (rank_ - distance + ranks_) % ranks_, 0, barrier_, MPI_STATUS_IGNORE);
    }
  }

  std::unique_ptr<Job> job_;
  HostVariables variables_;
  MPI_Comm barrier_ = MPI_COMM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
  std::optional<HostBuffers> buffers_;
};

}  // namespace

}  // namespace weft

/// As weft_job_bootstrap(), and instead of it.
extern "C" WEFT_API weft::tune::HostJob* weft_host_job() {
  return std::make_unique<weft::ThisJob>().release();
}
