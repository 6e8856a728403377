// Check of calls (WEFT_CHECK=1): all ranks compare what they are about to call.
#pragma once

#include <string>
#include <string_view>

#include <vector>

#include "comm/setup/call.hpp"
#include "comm/setup/membership.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// One rank's call: ranks whose `key` differs make different calls, which `words` tell people.
struct CallSignature {
  std::string key;
  std::string words;
  // By rank; empty: not described.
  std::vector<Communicator::Described> sends = {};
  std::vector<Communicator::Described> receives = {};
};

/// Of a task, and of what its caller adds to it (a caller that knows datatypes: Communicator::
/// describe_next_call()).
CallSignature signature_of(const Task& task, const CallSignature& added);

/// CallError and poison on all ranks, with the calls of two of them, where some differ: those of
/// the lowest rank and of the lowest one that differs from it. A vote: each rank sends one message
/// up a tree and gets one. Where sends are described, each rank also tells each other one what it
/// sends there, and those that expect something else are found by a second vote. Collective.
void require_alike(Membership& members, const CallSignature& mine);

/// How votes are joined: associative and commutative. Exposed for tests.
std::string vote_of(int rank, const CallSignature& mine);
std::string join_votes(std::string_view a, std::string_view b);

}  // namespace weft::comm
