// Registration: memory registered with every rail of an endpoint.
#pragma once

#include <array>
#include <cstdint>

#include "verbs/channel/inbox.hpp"

namespace weft::verbs {

class Endpoint;

/// The adapters' keys of registered memory, by rail; 0 where there is none.
struct Region {
  std::array<std::uint32_t, kMaxRails> lkeys{};
  RemoteKeys rkeys{};
};

/// Owns a registration of memory. Memory and endpoint must outlive it.
class Registration {
 public:
  Registration() = default;
  Registration(Endpoint& endpoint, std::uint32_t key) : endpoint_(&endpoint), key_(key) {}
  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&& other) noexcept;
  ~Registration() { reset(); }

  void reset() noexcept;
  explicit operator bool() const noexcept { return key_ != 0; }
  /// The endpoint's key of it, the same for local and remote use; 0 when empty. The adapters' own
  /// keys differ from rail to rail: Endpoint::region() has them.
  std::uint32_t lkey() const noexcept { return key_; }
  std::uint32_t rkey() const noexcept { return key_; }

 private:
  Endpoint* endpoint_ = nullptr;
  std::uint32_t key_ = 0;
};

}  // namespace weft::verbs
