// Simulation: the state of one run of the simulator. Only files of sim/ include this.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/events.hpp"
#include "sim/hardware_times.hpp"
#include "sim/members.hpp"
#include "sim/memory.hpp"
#include "sim/network.hpp"
#include "sim/processors.hpp"
#include "sim/program.hpp"
#include "sim/simulator.hpp"

namespace weft::sim {

// Of Op::state.
inline constexpr std::uint8_t kStarted = 1;  // cleared when the op is complete
inline constexpr std::uint8_t kArrived = 2;  // the message, answer or signal that it waits for
inline constexpr std::uint8_t kBehind = 4;   // recv: an earlier one waits for the same peer

// Of Op::step.
inline constexpr std::uint8_t kAsked = 1;     // send: its receiver was asked; recv: has answered
inline constexpr std::uint8_t kInjected = 2;  // send: under way

/// A hash of a seed and a number, as a reproducible random number.
inline std::uint64_t mix(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15 + number;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// In the bytes of an event: marks the last piece of a message.
inline constexpr std::uint32_t kLastPiece = 1u << 31;

/// Time by Cost, along the chain of ops and messages that led to an event.
using History = std::array<Time, kCosts>;

/// Action of a core with its current op.
enum class Action : std::uint8_t {
  none,
  finish,  ///< the last action, after which the op is complete
  post,    ///< gives the message to the adapter, which fetches it
  store,   ///< stores a piece of the message into the adapter
  stored,  ///< waited until the adapter took that piece
  pass,    ///< copies the message for a neighbour
  ask,     ///< asks the receiver whether it is ready
  answer,  ///< tells the sender that the receiver is ready
};

/// First in, first out, by Op::link.
struct OpQueue {
  Index head = kNone;
  Index tail = kNone;

  bool empty() const { return head == kNone; }
};

/// The number of queues of one rank at its adapter, which takes messages from them in turn. Small
/// messages use the first queue, in the order in which they were posted. Large ones use the queue
/// that a hash of their queue pair chooses. So adapters do not all serve their peers in the order
/// of the algorithm, as real ones do not: large messages that are posted at once collide at random.
inline constexpr std::uint32_t kTurns = 8;

struct Core {
  OpQueue ready;                      // ops that may start
  OpQueue arrived;                    // ops for which something has arrived
  std::array<OpQueue, kTurns> sends;  // at the adapter
  Index stored = kNone;               // at the adapter: the send whose piece the core has stored
  std::uint32_t turn = 0;
  std::uint32_t queued = 0;  // sends at the adapter
  std::uint32_t arrived_count = 0;
  std::uint32_t batch = 0;  // arrivals to handle before the next ops start
  Index current = kNone;
  std::uint32_t left = 0;     // ops that are not complete
  std::uint32_t awaited = 0;  // peers on other nodes for which a recv waits
  std::uint32_t remote = 0;   // messages to and from other nodes that have started
  std::uint32_t sending = 0;  // messages that occupy the adapter
  int next_sender = -1;       // in the list of its adapter
  Action action = Action::none;
  bool busy = false;
  bool untaken = false;     // the adapter has not taken the piece that this core stored
  bool listed = false;      // in the list of its adapter
  bool parked = false;      // enters the list at sender_free_at
  std::uint64_t piece = 0;  // bytes stored
  Time store_begin = 0;
  Time store_until = 0;  // earliest time of a piece at the adapter: the gap of the queue pair
  Time action_begin = 0;
  Time asked_at = -1;       // when it asked for its turn on a shared core
  Time free_at = 0;         // of the core
  Time sender_free_at = 0;  // limit of a single sender's rate
  Time spread = 0;          // by which it is behind the first of its class
  History history = {};     // sums to free_at
};

class Simulation {
 public:
  /// The arguments must live longer.
  Simulation(Program& program, const Members& members, const hierarchy::Machine& machine,
             const Hardware& hardware, const Options& options);
  /// Runs until nothing happens any more. False where some member is not done then.
  bool run();
  Result result() const;
  /// UsageError names the ranks that wait.
  [[noreturn]] void report_deadlock() const;

 private:
  // Events: simulation.cpp.
  void handle(const Event& event);

  // Cores: cores.cpp.
  void push(OpQueue& queue, Index op);
  Index pop(OpQueue& queue);
  void run_core(int rank);
  void wait_for_turn(int rank);
  void release_core(int rank);
  void announce(const std::optional<Processors::Turn>& turn);
  void end_action(int rank);
  void begin(int rank, Index index);
  void handle_arrival(int rank, Index index);
  void occupy(int rank, Action action, Time duration);
  void account(Core& core, Cost cost, Time duration);
  void finish(int rank, Index op);
  void add_waiting(Core& core, Op& recv);
  void remove_waiting(Core& core, const Op& recv);
  void release(int rank, Index op);
  void add_arrival(int rank, Index op);
  void switch_to(Core& core, Index op);
  void copy(int rank, Index index, const Side& dst, const Side& src, Rate limit);

  // Messages: messages.cpp.
  bool asks_first(const Op& op) const { return op.bytes > hardware_.eager_bytes; }
  bool goes_to_caller(const Op& send) const;
  Time post_time(const Op& op) const;
  void begin_send(int rank, Index index);
  void begin_recv(int rank, Index index);
  void inject(int rank, Index index);
  void post(int rank, Index index);
  void store_piece(int rank, Index index);
  void end_store(int rank, Index index);
  void end_send_action(int rank, Index index, Action action);
  void continue_send(int rank, Index index);
  void continue_recv(int rank, Index index);
  void save_history(int rank, Index op);
  void deliver(Index index);
  void land_piece(Index recv, std::uint32_t bytes);
  History history_at(Index from, Index to) const;
  Time notice_time(Index from) const;
  void notify(Index from, Time when);
  bool is_first_listener(const Op& recv, Index index) const;
  int node_number(int member) const { return machine_.node_of(members_.rank_of(member)); }
  int adapter_of(int member) const;
  Time jitter(Index op) const;

  // Sending: adapters.cpp.
  void hand_over(Index index);
  void queue(Index index);
  Index next_send(Core& core);
  void offer(int rank);
  void serve(int adapter);
  void send_piece(int adapter, int rank, Index index);
  void add_sender(int rank);
  void remove_sender(int rank, Time when);
  std::uint64_t piece_of(const Op& send) const;

  struct SenderList {
    int head = -1;
    int tail = -1;
    int senders = 0;     // ranks whose messages occupy the adapter
    bool waits = false;  // for an event
  };

  Program& program_;
  std::vector<Op>& ops_;
  const Members& members_;
  const hierarchy::Machine& machine_;
  const Options& options_;
  Network network_;
  Memory memory_;
  Processors processors_;
  EventQueue events_;
  Time now_ = 0;
  std::uint64_t finished_ = 0;  // ops
  std::vector<Core> cores_;
  std::vector<SenderList> adapters_;
  std::vector<Arrival> arrivals_;   // reused by send_piece()
  std::vector<History> histories_;  // by op, if a breakdown is asked for
  const HardwareTimes hardware_;
};

}  // namespace weft::sim
