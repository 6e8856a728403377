// Agent protocol: the packets between a requester and a target's agent. They pass descriptors, and
// the bytes that no other path can move.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/file.hpp"

namespace weft::soft {

enum class RequestKind : std::uint32_t {
  segment,       // -> the control segment's file; value: pid
  region,        // id: MR index, epoch -> its file; value: offset of the page of its first byte
  channel,       // id -> the completion channel's eventfd
  put,           // the payload follows in the same packet, to `address`
  get,           // the payload follows the reply in the same packet
  fetch_add,     // *address += operand; value: what was there
  compare_swap,  // if *address == compare, *address = operand; value: what was there
};

struct Request {
  RequestKind kind = RequestKind::segment;
  std::uint32_t id = 0;
  std::uint32_t epoch = 0;
  std::uint32_t reserved = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

/// Nothing when the bytes are no request that an agent may serve: of another size or kind, with a
/// payload of more than kPacketBytes, or an atomic on a word that is not aligned.
std::optional<Request> decode_request(std::span<const std::byte> bytes) noexcept;

struct Reply {
  std::int32_t error = 0;  // errno, 0 when done
  std::uint32_t reserved = 0;
  std::uint64_t value = 0;
};

/// Payload bytes of one packet.
constexpr std::size_t kPacketBytes = std::size_t{64} * 1024;

/// The address of a slot's agent: an abstract name, which the kernel frees when its holder dies.
struct SlotAddress {
  explicit SlotAddress(std::uint32_t slot) noexcept;
  alignas(8) std::byte storage[112] = {};
  std::uint32_t length = 0;
};

/// One packet out, with a descriptor when `passed` >= 0. Returns 0 or errno.
int send_packet(int socket, std::span<const iovec> parts, int passed = -1) noexcept;

/// One packet in, its bytes scattered over `parts`. Returns 0 or errno; ECONNRESET at the end of
/// the connection.
int receive_packet(int socket, std::span<const iovec> parts, std::size_t& bytes,
                   File* passed = nullptr) noexcept;

}  // namespace weft::soft
