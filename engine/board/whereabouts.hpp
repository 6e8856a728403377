// Whereabouts of a rank in few bytes: what processes of different nodes ask and answer by datagram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/board/reading.hpp"

namespace weft::engine::board {

/// Opaque to what carries it.
using Whereabouts = std::array<char, kWhereaboutsBytes>;

/// Where is that rank of that communicator?
Whereabouts question_of(std::uint64_t communicator, int rank) noexcept;

/// Makes the answer of a question, from the boards of this process and its neighbours, which are
/// read at most every tenth of a second. False where the rank is not among them. Thread safe.
bool answer(Whereabouts& text);

/// What an answer says: the last call, its first wait, and the state of the process. nullopt: it is
/// about another communicator.
std::optional<SeenRank> rank_from(const Whereabouts& answer, std::uint64_t communicator);

/// The answer about a rank; exposed for tests.
Whereabouts answer_of(std::uint64_t communicator, const SeenRank& rank) noexcept;

}  // namespace weft::engine::board
