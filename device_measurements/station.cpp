#include "device_measurements/station.hpp"

#include <sched.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "engine/node/doorbell.hpp"
#include "engine/views/cma.hpp"

namespace weft::device_measurements {

using engine::now_ns;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kSpinTurns = 2048;
constexpr int kYields = 200;
constexpr std::chrono::microseconds kNap(20);
constexpr std::int64_t kPeerCheckEvery_ns = 20'000'000;
constexpr std::int64_t kBootstrapCheckEvery_ns = 500'000'000;

}  // namespace

nic_profiles::DeviceName Station::device() const {
  const verbs::Rail& rail = *endpoint_->rails().front();
  return {rail.device(), rail.vendor(), rail.part()};
}

std::span<std::byte> Station::cold_memory() {
  if (cold_memory_.data() == nullptr) {
    const File file = make_memory_file("weft-probe-cold", cold_bytes_);
    cold_memory_ = Mapping(file.get(), cold_bytes_);
    std::memset(cold_memory_.data(), 1, cold_memory_.size());
  }
  return cold_memory_.memory();
}

std::byte* Station::coldest(std::uint64_t bytes) {
  const auto all = cold_memory();
  if (used_bytes_ + bytes > all.size()) used_bytes_ = 0;
  std::byte* part = all.data() + used_bytes_;
  used_bytes_ += round_up(bytes, kPage);
  return part;
}

void Station::progress(Connection& connection) {
  if (connection.channel.progress() != verbs::Status::failed) return;
  const auto said = connection.channel.peer_abort();
  if (said) throw comm::GivenUp(std::string(*said));
  throw Error(connection.channel.failure());
}

void Station::move(Connection& connection, std::uint64_t bytes, bool sends) {
  verbs::Transfer transfer;
  transfer.layout = layout(sends ? out() : in(), bytes);
  sends ? connection.channel.send(transfer) : connection.channel.recv(transfer);
  wait_until([&] {
    progress(connection);
    return transfer.done;
  });
}

void Station::await_signal(int place) {
  ++awaited_[place];
  wait_until([&] { return node_->signals_from(place) >= awaited_[place]; });
}

bool Station::read_neighbour(int place, std::uint64_t offset, std::uint64_t bytes) {
  auto* const theirs = reinterpret_cast<std::byte*>(node_->input_of(place, 1)) + offset;
  return engine::read_from(node_->process_of(place).number, layout(target() + offset, bytes),
                           {theirs, bytes, 1, bytes, 0});
}

void Station::barrier(int count) {
  if (count == 1 || place_ >= count) return;
  if (place_ != 0) {
    signal(0);
    return await_signal(0);
  }
  for (int other = 1; other < count; ++other) await_signal(other);
  for (int other = 1; other < count; ++other) signal(other);
}

void Station::set_active(const std::array<int, 2>& ranks) {
  const int here = one_machine_ ? ranks[0] + ranks[1] : ranks[node_number_];
  spin_turns_ = here <= cores_ ? kSpinTurns : 0;
  const bool busy = place_ < ranks[node_number_] && here <= CPU_COUNT(&common_);
  const int before = one_machine_ && node_number_ == 1 ? ranks[0] : 0;
  own_core_ = busy ? before + place_ : -1;
}

/// Waits a little, and checks now and then whether a rank has failed. A yield has no effect on
/// Linux for a process that has run less than the others, so where all share one core they sleep,
/// too.
void Station::idle(int turn) {
  if (turn > spin_turns_) {
    const bool naps = spin_turns_ == 0 && cores_ == 1 && turn > kYields;
    naps ? std::this_thread::sleep_for(kNap) : static_cast<void>(::sched_yield());
  }
  const std::int64_t now = now_ns();
  if (waiting_since_ns_ == 0) {
    waiting_since_ns_ = now;
    next_peer_check_ns_ = now + kPeerCheckEvery_ns;
    next_bootstrap_check_ns_ = now + kBootstrapCheckEvery_ns;
  }
  if (now < next_peer_check_ns_) return;
  next_peer_check_ns_ = now + kPeerCheckEvery_ns;
  check_peers();
  if (now >= next_bootstrap_check_ns_) {
    next_bootstrap_check_ns_ = now + kBootstrapCheckEvery_ns;
    bootstrap_.check();
  }
  if (now - waiting_since_ns_ > timeout_ns_) {
    throw Error(fmt::format("nothing has arrived for {} s", timeout_ns_ / 1'000'000'000));
  }
}

void Station::check_peers() {
  bootstrap_.progress();
  for (int place = 0; node_ != nullptr && place < node_->places(); ++place) {
    if (place == place_) continue;
    if (const char* said = node_->abort_of(place)) throw comm::GivenUp(said);
  }
  if (node_ != nullptr) {
    const int dead = node_->find_dead(1);  // no rank ever completes an execution
    if (dead >= 0) throw Error(fmt::format("rank {} has ended", node_->rank_at(dead)));
  }
  for (const auto& connection : connections_) {
    if (connection == nullptr) continue;
    if (const auto said = connection->channel.peer_abort()) {
      throw comm::GivenUp(std::string(*said));
    }
  }
}

void Station::abort(const std::string& why) noexcept {
  const char* text = why.c_str();
  if (node_ != nullptr) node_->abort(text);
  for (const auto& connection : connections_) {
    if (connection != nullptr) connection->channel.abort(text);
  }
}

}  // namespace weft::device_measurements
