// Communicators of the program in its recording.
#pragma once

#include <cstdint>
#include <optional>

#include "mpi/recording/recorder.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/world.hpp"

namespace weft::mpi {

/// The communicator's number in the recording, which it gets with its first call there; nothing:
/// there are too many. Waits for nobody. Inside of weft.
std::optional<std::uint32_t> recorded_communicator(Recorder& recorder, const World& world,
                                                   Attached& attached);

/// Gathers the recordings of all ranks on rank 0, which writes `path`. Collective over the world.
/// What cannot be gathered or written stays in the ranks' part files, and a line says why.
void gather_recording(Recorder& recorder, Post& post, const std::string& path,
                      const std::map<std::string, std::string>& facts);

}  // namespace weft::mpi
