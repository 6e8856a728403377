// Segments: the same algorithm on a part of every block after the other, so that a member passes
// one part on while the next comes.
#pragma once

#include <functional>

#include "algorithm/forms.hpp"
#include "gather/flat/tree.hpp"

namespace weft::gather {

/// Bytes `from` to `to` - 1 of all that `slices` have, in order.
Slices cut(const Slices& slices, std::uint64_t from, std::uint64_t to);

/// The team on bytes `from` to `to` - 1 of every block, of which some may have fewer.
Team cut(const Team& team, std::uint64_t from, std::uint64_t to);

/// Calls `emit` with the team, or with each of its cuts of `segment_bytes` in order (0: uncut).
/// Messages of different segments need not wait for one another, but keep their order.
Arrived segmented(const Team& team, std::uint64_t segment_bytes,
                  const std::function<Arrived(const Team&)>& emit);

/// A flat algorithm on a team, in segments where it reads them and the parameters say so.
Arrived emit_on_team(plan::Builder& builder, const Team& team, const algorithm::FlatForm& form,
                     const algorithm::Parameters& parameters);

}  // namespace weft::gather
