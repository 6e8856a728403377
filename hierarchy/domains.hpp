// Machines whose nodes are divided into domains: sockets, or what shares a cache.
#pragma once

#include <optional>
#include <string_view>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// The ranks of each node in so many domains, in blocks by place as even as can be, the larger
/// first; on a node of fewer ranks each has one of its own. At least 1.
Machine in_blocks(const Machine& machine, int domains);
/// Dealt out in turn: the rank at place p of a node is in its domain p % domains.
Machine dealt_out(const Machine& machine, int domains);

/// What stands behind the slash of a machine's text: "2" (in_blocks), "2:cyclic" (dealt_out), or
/// "0,0,1,1", the domain of each rank on its node. Nothing when it is none of these.
std::optional<Machine> parse_domains(const Machine& machine, std::string_view text);

/// The machine with the domains that WEFT_SOCKETS asks for: any text of parse_domains(). UsageError
/// names WEFT_SOCKETS, its value and what is allowed.
Machine with_virtual_sockets(const Machine& machine, std::string_view setting);

}  // namespace weft::hierarchy
