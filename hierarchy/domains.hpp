// Domains of machines: nodes divided into sockets, or into ranks that share a cache.
#pragma once

#include <optional>
#include <string_view>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// Divides each node into so many domains (at least 1): blocks by place, as even as can be, the
/// larger first. On a node of fewer ranks each rank is a domain.
Machine in_blocks(const Machine& machine, int domains);
/// Deals the ranks of a node out in turn: the rank at place p is in domain p % domains of the node.
Machine dealt_out(const Machine& machine, int domains);

/// Reads the part behind the slash of a machine's text: "2" (in_blocks), "2:cyclic" (dealt_out), or
/// "0,0,1,1", the domain of each rank on its node. nullopt for other texts.
std::optional<Machine> parse_domains(const Machine& machine, std::string_view text);

/// The machine with the domains that WEFT_SOCKETS asks for: any text of parse_domains(). UsageError
/// names WEFT_SOCKETS, its value and what is allowed.
Machine with_virtual_sockets(const Machine& machine, std::string_view setting);

}  // namespace weft::hierarchy
