// Fault plan: the faults that WEFT_SOFT_FAULTS or weft_soft_inject() asks for, and the messages
// that they meet. Pure: the same plan gives the same faults to the same message numbers.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::soft {

/// A fault of one message.
struct Fault {
  enum class Kind : std::uint8_t {
    none,
    error,        // not carried out: completes with `status`
    lost_answer,  // carried out, but completes with `status`
    qp_error,     // its QP goes to the error state before it
    port_down,    // the port goes down before it, for `duration_ns` (0: until it is brought up)
    port_up,
    die,  // the process is killed before it
  };
  Kind kind = Kind::none;
  ibv_wc_status status = IBV_WC_RETRY_EXC_ERR;
  std::int64_t duration_ns = 0;
  std::int64_t delay_ns = 0;  // from posting on, before it goes

  explicit operator bool() const noexcept { return kind != Kind::none || delay_ns != 0; }
};

/// A fault and the messages that it meets. Exactly one of `at`, `every` and `chance` is set.
struct FaultRule {
  Fault fault;
  std::int64_t jitter_ns = 0;       // a random time up to this is added to the delay
  std::uint64_t at = 0;             // the message of this number
  std::uint64_t every = 0;          // each message whose number is a multiple
  double chance = 0;                // each message with this probability, by the seed
  std::optional<std::uint64_t> qp;  // counts the messages of the process's n-th QP alone
};

/// Messages are the requests posted to send queues, numbered from 1 in the order of posting.
struct FaultPlan {
  std::vector<FaultRule> rules;
  std::vector<Fault> at_once;  // port_down and port_up that wait for no message
  std::int64_t slow_ns = 0;    // least time between two messages that this process answers
  std::uint64_t seed = 0;

  bool empty() const noexcept { return rules.empty() && at_once.empty() && slow_ns == 0; }
};

/// The faults that `text` asks for; `what` names it in errors. UsageError names the item that is
/// not understood and what is allowed. A plan for another rank than this process's is empty.
FaultPlan parse_faults(std::string_view what, std::string_view text);

/// The fault of message `number` of the process, which is message `qp_number` of its `qp`-th QP.
Fault decide(const FaultPlan& plan, std::uint64_t number, std::uint64_t qp,
             std::uint64_t qp_number) noexcept;

}  // namespace weft::soft
