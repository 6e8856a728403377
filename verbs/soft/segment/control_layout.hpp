// Control layout: the structures of a control segment, the shared memory through which a process is
// reached by its peers. They map it and push completions, consume receives and look up keys in it
// without asking the owner.
//
// Writers: the owner creates and retires objects. A requester changes a QP only while it
// holds that QP's `responder` lock, and a CQ's ring only while it holds the CQ's `lock`; both may
// be taken by any process and survive its death. Locks are taken in the order send queue (private
// to its process), responder, SRQ, CQ, and never two of a kind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "verbs/soft/segment/robust_lock.hpp"

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

using Shared32 = std::atomic<std::uint32_t>;
using Shared64 = std::atomic<std::uint64_t>;
static_assert(Shared64::is_always_lock_free);

constexpr std::uint64_t kSegmentMagic = 0x7765'6674'736f'6633;  // also the version of the layout
constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// One completion, 64 bytes. `qp` is kNone when its QP was destroyed before it was polled.
struct Cqe {
  std::uint64_t wr_id;
  std::uint64_t sequence;  // of the work request in its queue
  std::uint64_t timestamp_ns;
  std::uint32_t qp;
  std::uint32_t status;
  std::uint32_t opcode;
  std::uint32_t byte_len;
  std::uint32_t imm_data;
  std::uint32_t src_qp;
  std::uint32_t wc_flags;
  std::uint16_t slid;
  std::uint8_t sl;
  std::uint8_t receive;  // 1: completes a receive, 0: a send
};

// Values of CqBlock::armed: the completions that raise an event.
constexpr std::uint32_t kArmedNot = 0;
constexpr std::uint32_t kArmedSolicited = 1;
constexpr std::uint32_t kArmedAny = 2;

struct CqBlock {
  RobustMutex lock;  // producers; the owner's consumers have a lock of their own
  std::uint64_t ring;
  std::uint32_t capacity;  // a power of two
  std::uint32_t channel;   // identifier, or 0
  std::uint32_t armed;     // kArmed..., under `lock`
  std::uint32_t wants_timestamp;
  Shared32 overflowed;
  Shared64 tail;    // released by the producer: entries before it are complete
  Shared64 head;    // released by the consumer: entries before it may be overwritten
  Shared64 events;  // completion events raised, ever
  // Under `lock`: the tails behind the last completion that raised an event, and behind the last
  // one that was solicited or failed.
  std::uint64_t notified;
  std::uint64_t last_solicited;
};

struct Sge {
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t lkey;
};

/// A posted receive as it lies in a ring; `sge` has the ring's max_sge entries.
struct ReceiveWqe {
  std::uint64_t wr_id;
  std::uint32_t count;
  std::uint32_t reserved;
  Sge sge[1];
};

struct ReceiveRing {
  std::uint64_t ring;
  std::uint32_t capacity;  // entries, a power of two
  std::uint32_t stride;    // bytes
  std::uint32_t max_sge;
  Shared64 head;  // next to consume
  Shared64 tail;  // next to post; released by the owner
};

struct SrqBlock {
  RobustMutex lock;  // consumers: peers of any QP that uses the SRQ
  std::uint32_t pd;
  std::uint32_t taker;  // QP index of the last consumer, to repair a death between two stores
  Shared32 limit;
  Shared32 limit_reached;
  ReceiveRing ring;
};

/// The receive that a message in flight has taken from its queue. It is valid until its completion
/// is published; when a requester dies in between, the owner repairs it.
struct TakenReceive {
  std::uint64_t wr_id;
  std::uint64_t sequence;
  std::uint32_t valid;
};

// Bits of QpBlock::attention: requests of peers to the QP's owner.
constexpr std::uint32_t kFlush = 1;        // the QP went to the error state from outside
constexpr std::uint32_t kAccessEvent = 2;  // and this is the asynchronous event to report
constexpr std::uint32_t kRequestEvent = 4;
constexpr std::uint32_t kFatalEvent = 8;
constexpr std::uint32_t kEstablishedEvent = 16;

struct QpBlock {
  RobustMutex responder;
  Shared32 state;  // ibv_qp_state; written under `responder`
  std::uint32_t number;
  std::uint32_t type;
  std::uint32_t destination;  // QP number of the peer
  std::uint32_t device;
  std::uint32_t pd;
  std::uint32_t access;
  std::uint32_t qkey;
  std::uint32_t min_rnr_timer;
  std::uint32_t max_dest_rd_atomic;
  std::uint32_t receive_cq;
  std::uint32_t srq;          // index or kNone
  std::uint32_t established;  // 1: a message came while the QP could not send yet
  Shared32 attention;
  TakenReceive taken;
  Shared64 receives_polled;  // sequence + 1 of the last receive completion that was polled
  Shared64 sends_polled;     // the same for the send queue: its slots before this are free
  ReceiveRing receives;      // unused with an SRQ
};

/// A memory region. `key` is 0 while the entry is not valid; it is released last when a region is
/// registered, and cleared first when it goes. The other fields hold still while a requester that
/// saw `key` holds the responder lock of a QP of the same process: deregistration passes through
/// all those locks before it touches them.
struct MrEntry {
  Shared32 key;
  Shared32 epoch;  // counts regions in this entry; moves when a region is gone for good
  std::uint32_t pd;
  std::uint32_t access;
  std::uint64_t iova;
  std::uint64_t address;  // in the owner's address space
  std::uint64_t length;
  std::uint64_t file_offset;  // of the page that `address` lies in, when `shared`
  std::uint32_t shared;       // 1: peers can have its file from the agent and map it
  std::uint32_t tag;
};

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t slot;
  std::int32_t pid;
  Shared32 attention;  // not 0: the owner has some QP, CQ or SRQ to serve
  Shared32 doorbell;   // futex that the owner's progress thread sleeps on
  // Faults of the owner that its peers must see; times of the device's clock.
  Shared64 port_down_until_ns[kMaxDevices];  // 0: the port is up
  Shared64 slow_ns;                          // least time between two messages that it answers
  Shared64 busy_until_ns;                    // when it answers the next message
};

// Offsets of the tables. Rings are allocated behind them.
constexpr std::size_t kPage = 4096;
constexpr std::size_t table_bytes(std::size_t count, std::size_t bytes) {
  return (count * bytes + kPage - 1) / kPage * kPage;
}
constexpr std::size_t kQpTable = kPage;
constexpr std::size_t kCqTable = kQpTable + table_bytes(kMaxQps, sizeof(QpBlock));
constexpr std::size_t kSrqTable = kCqTable + table_bytes(kMaxCqs, sizeof(CqBlock));
constexpr std::size_t kMrTable = kSrqTable + table_bytes(kMaxSrqs, sizeof(SrqBlock));
constexpr std::size_t kRingArea = kMrTable + table_bytes(kMaxMrs, sizeof(MrEntry));
static_assert(kRingArea < kSegmentBytes / 4);

}  // namespace weft::soft
