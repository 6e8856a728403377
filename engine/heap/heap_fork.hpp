// Fork handlers of the shared heap: a child gets a private copy of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::engine::heap {

/// Installs the handlers. Without them a child of fork() would share the heap's memory with its
/// parent. The thread that forks makes the copy right before: what other threads of the parent
/// write meanwhile may or may not be in it, as with every fork of a program with threads. The file
/// says what there is to copy, or the memory itself where the program has closed the descriptor. A
/// child that can get no copy ends at once, with a message: for want of memory, or where the file
/// is closed and the system has pages swapped out.
///
/// Children of clone() and of _Fork() get no copy and must not write to the heap before exec().
/// False when there is no memory for the handlers.
bool survive_fork(std::byte* memory, std::size_t bytes, int descriptor);

}  // namespace weft::engine::heap
