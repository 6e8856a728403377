// Station: places of ranks, the device, connections.
#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "comm/setup/settings.hpp"
#include "device_measurements/pinning.hpp"
#include "device_measurements/station.hpp"
#include "hierarchy/detect.hpp"

namespace weft::device_measurements {

namespace {

constexpr std::uint64_t kLargestCold_bytes = 512 << 20;
constexpr std::uint64_t kOthersCold_bytes = 128 << 20;
constexpr std::uint64_t kLeastCold_bytes = 32 << 20;

/// Memory that the machine has for new processes; 1 GiB when unknown.
std::uint64_t available_bytes() {
  std::uint64_t available = std::uint64_t{1} << 30;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemAvailable:")) available = std::stoull(line.substr(13)) << 10;
  }
  // The limit of a container.
  std::uint64_t limit = 0, used = 0;
  if ((std::ifstream("/sys/fs/cgroup/memory.max") >> limit) &&
      (std::ifstream("/sys/fs/cgroup/memory.current") >> used)) {
    available = std::min(available, limit - std::min(used, limit));
  }
  return available;
}

/// Joins a list of texts into one; split() is the inverse.
std::string joined(std::span<const std::string> texts) {
  std::string all;
  for (const std::string& text : texts) {
    const auto length = static_cast<std::uint32_t>(text.size());
    all.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  }
  return all;
}

std::vector<std::string> split(std::string_view all) {
  std::vector<std::string> texts;
  while (!all.empty()) {
    std::uint32_t length = 0;
    std::memcpy(&length, all.data(), sizeof length);
    texts.emplace_back(all.substr(sizeof length, length));
    all.remove_prefix(sizeof length + length);
  }
  return texts;
}

/// Sent by each rank to the other node, before the addresses of its connections.
struct Introduction {
  std::uint64_t inbox = 0;
  verbs::RemoteKeys keys{};
  std::uint64_t shared = 0;
  verbs::RemoteKeys shared_keys{};
  std::uint64_t eager_bytes = 0;
};

}  // namespace

Station::Station(Bootstrap& bootstrap) : bootstrap_(bootstrap) {
  find_place();
  open_device();
  connect();
}

void Station::find_place() {
  comm::Settings settings;
  const auto hosts = comm::agree(bootstrap_, [&] {
    settings = comm::Settings::from_environment();
    return hierarchy::host_identity();
  });
  count_cores();
  settings_ = settings.port;
  eager_bytes_ = settings.eager_bytes;
  if (settings.timeout_ns != 0) timeout_ns_ = settings.timeout_ns;
  machine_ = hierarchy::machine_from(hosts);
  if (machine_.nodes() == 1 && machine_.ranks() > 1) {
    machine_ =
        hierarchy::with_virtual_nodes(machine_, settings.nodes.empty() ? "2" : settings.nodes);
  }
  if (machine_.nodes() != 2) {
    throw_usage("a probe of {} ranks on {} nodes: it needs ranks on 2", machine_.ranks(),
                machine_.nodes());
  }
  const int rank = bootstrap_.rank();
  node_number_ = machine_.node_of(rank);
  place_ = machine_.place_of(rank);
  pairs_ = static_cast<int>(std::min(machine_.ranks_on(0).size(), machine_.ranks_on(1).size()));
  const std::uint64_t share = available_bytes() / 4 / static_cast<std::uint64_t>(ranks_here_);
  cold_bytes_ = std::clamp(is_at(0, 0) ? share * static_cast<std::uint64_t>(ranks_here_) : share,
                           kLeastCold_bytes, is_at(0, 0) ? kLargestCold_bytes : kOthersCold_bytes);
}

void Station::count_cores() {
  const auto kernels = comm::agree(bootstrap_, [] { return hierarchy::kernel_identity(); });
  auto masks = comm::agree(bootstrap_, [] { return hierarchy::affinity_mask(); });
  const std::string& here = kernels[static_cast<std::size_t>(bootstrap_.rank())];
  std::vector<std::string> masks_here;
  for (std::size_t rank = 0; rank < masks.size(); ++rank) {
    if (kernels[rank] == here) masks_here.push_back(masks[rank]);
  }
  common_ = device_measurements::common_cores(masks_here);
  for (std::size_t rank = 0; rank < masks.size(); ++rank) {
    if (kernels[rank] != here) masks[rank].clear();
  }
  cores_ = hierarchy::usable_cores(masks);
  ranks_here_ = static_cast<int>(std::ranges::count(kernels, here));
  one_machine_ = ranks_here_ == static_cast<int>(kernels.size());
}

void Station::open_device() {
  const auto neighbours = machine_.ranks_on(node_number_);
  const auto handles = comm::agree(bootstrap_, [&]() -> std::string {
    if (neighbours.size() == 1) return "";
    const engine::NodeControl::Options options{.crowded = crowded(), .any_crowded = crowded()};
    node_ = std::make_unique<engine::NodeControl>(place_, neighbours, options);
    return node_->handle();
  });
  comm::agree(bootstrap_, [&]() -> std::string {
    if (node_ != nullptr) {
      std::vector<std::string> theirs;
      for (const int rank : neighbours) theirs.push_back(handles[rank]);
      node_->attach(theirs);
    }
    awaited_.resize(neighbours.size());
    endpoint_ = std::make_unique<verbs::Endpoint>(settings_);
    if (endpoint_->rails().size() > 1) {
      // Only the first rail: a probe measures one rail at a time.
      const verbs::Rail& first = *endpoint_->rails().front();
      settings_.ports = {{first.device(), first.port()}};
      endpoint_ = std::make_unique<verbs::Endpoint>(settings_);
    }
    // Private memory, like that of programs: on one machine the software device is slower there
    // than in shared memory.
    memory_.assign(3 * nic_profiles::kLargest_bytes, std::byte{1});
    registration_ = endpoint_->register_memory(memory_.data(), memory_.size());
    shared_ = engine::SharedMemory::create("weft-probe", nic_profiles::kLargest_bytes);
    shared_registration_ = endpoint_->register_memory(shared_.data(), shared_.size());
    return "";
  });
}

void Station::connect() {
  const auto addresses = comm::agree(bootstrap_, [&] {
    Introduction mine;
    mine.inbox = reinterpret_cast<std::uint64_t>(in());
    mine.keys = endpoint_->region(registration_.rkey()).rkeys;
    mine.shared = reinterpret_cast<std::uint64_t>(shared_.data());
    mine.shared_keys = endpoint_->region(shared_registration_.rkey()).rkeys;
    mine.eager_bytes = eager_bytes_;
    std::vector<std::string> texts{{reinterpret_cast<const char*>(&mine), sizeof mine}};
    connections_.resize(static_cast<std::size_t>(pairs_));
    for (int other = 0; other < pairs_; ++other) {
      const bool wanted = place_ < pairs_ && (place_ == other || place_ == 0 || other == 0);
      if (wanted) connections_[other] = std::make_unique<Connection>(*endpoint_, eager_bytes_);
      texts.push_back(wanted ? connections_[other]->wire.address() : "");
    }
    return joined(texts);
  });
  comm::agree(bootstrap_, [&]() -> std::string {
    const auto others = machine_.ranks_on(1 - node_number_);
    for (int other = 0; other < pairs_; ++other) {
      if (connections_[other] == nullptr) continue;
      const auto texts = split(addresses[others[other]]);
      Introduction theirs;
      std::memcpy(&theirs, texts[0].data(), sizeof theirs);
      if (theirs.eager_bytes != eager_bytes_) {
        throw_usage("WEFT_EAGER={}: rank {} has {}; all ranks must have the same", eager_bytes_,
                    others[other], theirs.eager_bytes);
      }
      Connection& connection = *connections_[other];
      connection.inbox = theirs.inbox;
      connection.keys = theirs.keys;
      connection.shared = theirs.shared;
      connection.shared_keys = theirs.shared_keys;
      connection.wire.connect(texts[static_cast<std::size_t>(place_) + 1]);
    }
    return "";
  });
  comm::agree(bootstrap_, [] { return std::string(); });
}

}  // namespace weft::device_measurements
