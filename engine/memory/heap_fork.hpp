// The shared heap across fork().
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::engine::heap {

/// A child of fork() would share the heap's memory with its parent, where it must have a copy: from
/// now on it has. The copy is made by the thread that forks, right before: what other threads of
/// the parent write meanwhile may or may not be in it, as with every fork of a program with
/// threads. A child that cannot have its copy ends at once, and says so.
///
/// Not seen: children of clone() and of _Fork(), which must not write to the heap before exec().
/// False when there is no memory for the handlers.
bool survive_fork(std::byte* memory, std::size_t bytes, int descriptor);

}  // namespace weft::engine::heap
