// What the software device can hold, and how a QP number says who owns it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::soft {

/// A QP number (24 bits) is the slot of the process that owns the QP, and an index in its table.
constexpr unsigned kSlotBits = 10;
constexpr unsigned kIndexBits = 14;
static_assert(kSlotBits + kIndexBits == 24);

constexpr std::uint32_t qp_number(std::uint32_t slot, std::uint32_t index) {
  return slot << kIndexBits | index;
}
constexpr std::uint32_t slot_of(std::uint32_t number) {
  return number >> kIndexBits & ((1U << kSlotBits) - 1);
}
constexpr std::uint32_t index_of(std::uint32_t number) {
  return number & ((1U << kIndexBits) - 1);
}

/// Slots 0 and the last stay free: QP numbers 0, 1 and 0xffffff mean other things in InfiniBand.
constexpr std::uint32_t kFirstSlot = 1;
constexpr std::uint32_t kLastSlot = (1U << kSlotBits) - 2;

constexpr std::uint32_t kMaxQps = 1U << kIndexBits;
constexpr std::uint32_t kMaxCqs = 1U << 13;
constexpr std::uint32_t kMaxSrqs = 1U << 10;
constexpr std::uint32_t kMaxMrs = 1U << 18;  // an rkey is index << 8 | tag
constexpr std::uint32_t kMaxCqe = 1U << 18;
constexpr std::uint32_t kMaxWorkRequests = 1U << 15;
constexpr std::uint32_t kMaxSge = 30;
constexpr std::uint32_t kMaxInlineBytes = 1024;
constexpr std::uint32_t kMaxRdAtomic = 16;
constexpr std::uint32_t kMaxMessageBytes = 1U << 31;
constexpr std::uint32_t kUdMtuBytes = 4096;
constexpr std::uint32_t kGrhBytes = 40;
constexpr unsigned kMaxDevices = 8;

/// Address space of a control segment. It is a sparse file: memory is committed object by object.
constexpr std::size_t kSegmentBytes = std::size_t{1} << 30;

}  // namespace weft::soft
