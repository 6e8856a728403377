// What two ends of a reliable connection tell each other to connect: this for each rail.
#pragma once

#include <array>
#include <cstdint>

#include "verbs/connection/rail.hpp"

namespace weft::verbs {

/// What the other end must know. Sent as bytes: both ends run the same build.
struct RcAddress {
  std::uint32_t queue_pair = 0;
  std::uint32_t control = 0;   // queue pair of its rail's control path; 0: none
  std::uint32_t presence = 0;  // and of what answers for the rank; 0: nothing
  std::uint32_t key = 0;
  std::uint16_t lid = 0;
  std::uint16_t partition = 0;
  std::uint8_t software = 0;
  std::uint8_t ethernet = 0;
  std::uint8_t global_required = 0;
  std::uint8_t mtu = 0;
  GidType gid_type = GidType::unknown;
  GidFamily gid_family = GidFamily::unknown;
  std::uint8_t immediate = 0;
  std::array<std::uint8_t, 5> reserved{};
  std::uint64_t inbox = 0;
  ibv_gid gid{};
};

/// UsageError when two ports cannot reach each other.
void expect_same_fabric(const Rail& rail, const RcAddress& peer);

/// How packets find the peer: by its GID on Ethernet, by its LID within an InfiniBand subnet.
ibv_ah_attr route(const Rail& rail, const RcAddress& peer);

}  // namespace weft::verbs
