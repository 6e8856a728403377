// What all ranks of a probe do together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft::probe {

/// Another rank said that it gives up: what this one throws is not the cause.
class GivenUp : public PeerError {
 public:
  using PeerError::PeerError;
};

/// Runs `work` on every rank and gives each what all have returned, in rank order. Where it throws
/// on one, every rank throws the same: UsageError as it was, any other error as a PeerError that
/// names the rank. Collective.
std::vector<std::string> together(Bootstrap& bootstrap, const std::function<std::string()>& work);

}  // namespace weft::probe
