// Fork handlers of the shared heap: a child gets a private copy of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::engine::heap {

/// Installs the handlers. Without them a child of fork() would share the heap's memory with its
/// parent. The thread that forks makes the copy right before: what other threads of the parent
/// write meanwhile may or may not be in it, as with every fork of a program with threads. A child
/// for which there is no memory for a copy ends at once, with a message.
///
/// Children of clone() and of _Fork() get no copy and must not write to the heap before exec().
/// False when there is no memory for the handlers.
bool survive_fork(std::byte* memory, std::size_t bytes, int descriptor);

}  // namespace weft::engine::heap
