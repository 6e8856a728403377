// Mappings over the shared heap: whether this process notes those that the program makes.
//
// The add-on's wrappers of mmap() and the like note them (heap::note_mapping). UCX puts functions
// of its own before them in every library, which go to the system at once; but it tells whoever
// asks of memory that goes away.
#pragma once

namespace weft::engine::heap {

/// Asks UCX to tell, where it is loaded, and tries whether a mapping is noted. To be called when
/// the MPI has started, before peers look into the heap. Maps a page of its own anew.
bool sees_mappings() noexcept;

}  // namespace weft::engine::heap
