// Key-value space of the launcher: each rank publishes there, before or while the host's MPI_Init
// runs, that it has the add-on. After it every rank can ask about any other without waiting for it.
//
// Under Open MPI that is PMIx: the add-on puts its value before the host commits its values, and
// the host's exchange makes it visible to all. Preloaded, it sees the host's own calls of it
// (mpi/pmpi/pmix_hooks.cpp); a component is opened in time. Under MPICH's launcher it is PMI-1,
// lines of text over a socket (mpi/world/pmi.cpp): values put before the host's MPI_Init are
// visible after the barrier in it.
#pragma once

#include <string_view>

namespace weft::mpi {

/// How this process has the add-on: preloaded, or as a component of its MPI. Set before anything
/// else. All ranks must have the same, as the two tell communicators apart in different ways.
enum class Form { preloaded, component };
inline constinit Form form = Form::preloaded;
/// A symbol that the library to preload shows: where it is loaded, the component does nothing.
inline constexpr const char* kPreloadedMark = "weft_preloaded";

/// The add-on of a rank.
enum class AddOn {
  unknown,  // the key-value space has failed to say
  missing,
  disabled,    // loaded, but inert: WEFT_DISABLE=1
  other_form,  // loaded in the other form than this rank's
  loaded,
};

/// Settings are from now on as they are at this moment, whatever the program does to its
/// environment. Without memory for that they are not.
void keep_settings() noexcept;

/// WEFT_DISABLE is 1, yes, on or true: the add-on is to do nothing at all.
bool is_disabled_here() noexcept;

/// The program's MPI_Init begins: publishes this rank's value, or lets the host's MPI_Init do so.
void publish_before_init() noexcept;

/// After the host's MPI_Init: the key-value space, as this rank has found it.
enum class KeyValues {
  /// None that could be used; the same on all ranks with the add-on. The program was started
  /// without
  /// a launcher, or by one that is not known.
  none,
  usable,
  /// There is one, but this rank could not publish its value: to the others it lacks the add-on.
  not_for_this_rank,
};
KeyValues key_values() noexcept;

/// The add-on of world rank `rank`. Never waits for that rank, nor for any other.
AddOn addon_of(int rank) noexcept;

/// The text of a value, and back: missing where the text is of neither.
std::string_view text_of(AddOn addon) noexcept;
AddOn addon_of_text(std::string_view text) noexcept;

}  // namespace weft::mpi
