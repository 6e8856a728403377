// User of a TCP connection's other end, on the same host.
#pragma once

#include <sys/types.h>

#include <optional>

namespace weft::comm {

/// The effective user that made the socket at the other end of a connection of the loopback, as the
/// kernel's sock_diag tells; a user that nobody is where there is no such socket any more. Nothing
/// where the kernel does not answer such questions.
std::optional<uid_t> user_of_peer(int socket) noexcept;

}  // namespace weft::comm
