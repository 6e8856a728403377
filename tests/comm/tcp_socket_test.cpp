#include "comm/bootstrap/tcp_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace weft::comm {
namespace {

/// True if another program could listen at the root's address.
bool is_open_to_others(const sockaddr_in& address) {
  const File other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(ReservedRoot, IsForRank0Alone) {
  std::string root;
  File port = reserve_root(root);
  const sockaddr_in address = resolve_root(root);
  EXPECT_EQ(connect_once(address), -1);  // nobody listens yet
  EXPECT_FALSE(is_open_to_others(address));
  {
    const File rank0 = listen_at(address, root);
    port.reset();
    EXPECT_FALSE(is_open_to_others(address));
    EXPECT_TRUE(File(connect_once(address)));
  }
}

TEST(ReservedRoot, HasAnotherPortEachTime) {
  std::string roots[2];
  const File first = reserve_root(roots[0]);
  const File second = reserve_root(roots[1]);
  EXPECT_NE(roots[0], roots[1]);
}

}  // namespace
}  // namespace weft::comm
