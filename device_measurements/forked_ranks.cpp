#include "device_measurements/forked_ranks.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "base/file.hpp"
#include "comm/bootstrap/secret.hpp"
#include "comm/bootstrap/tcp_address.hpp"
#include "device_measurements/device_target.hpp"

namespace weft::device_measurements {

namespace {

constexpr int kLook_ms = 5;

[[noreturn]] void run_rank(int rank, const std::string& device) {
  std::signal(SIGINT, SIG_IGN);
  ::setenv("WEFT_RANK", std::to_string(rank).c_str(), 1);
  if (!device.empty()) ::setenv("WEFT_DEVICE", device.c_str(), 1);
  int code = 1;
  try {
    serve(*tcp_bootstrap());
    code = 0;
  } catch (const std::exception&) {
    // Rank 0 has the same error, or has ended.
  }
  ::_exit(code);
}

}  // namespace

ForkedRanks::ForkedRanks(int ranks, const std::string& peer_device) {
  std::string root;
  port_ = comm::reserve_root(root);
  ::setenv("WEFT_SIZE", std::to_string(ranks).c_str(), 1);
  ::setenv("WEFT_RANK", "0", 1);
  ::setenv("WEFT_ROOT", root.c_str(), 1);
  std::string secret;
  secret_ = comm::make_secret(secret);
  ::setenv("WEFT_SECRET_FILE", secret.c_str(), 1);
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t process = ::fork();
    if (process < 0) {
      const int error = errno;
      end_others(0);
      throw SystemError("fork", error);
    }
    if (process == 0) {
      port_.reset();
      run_rank(rank, rank < ranks / 2 ? "" : peer_device);
    }
    others_.push_back(process);
  }
}

std::unique_ptr<Bootstrap> ForkedRanks::bootstrap() {
  auto joined = tcp_bootstrap();
  port_.reset();
  return joined;
}

void ForkedRanks::end_others(int grace_ms) noexcept {
  for (int waited_ms = 0; waited_ms < grace_ms && !others_.empty(); waited_ms += kLook_ms) {
    std::erase_if(others_, [](pid_t process) { return ::waitpid(process, nullptr, WNOHANG) != 0; });
    if (!others_.empty()) ::poll(nullptr, 0, kLook_ms);
  }
  for (const pid_t process : others_) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
  others_.clear();
}

}  // namespace weft::device_measurements
