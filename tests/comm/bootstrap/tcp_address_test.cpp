// Where ranks that TCP joins listen: at the addresses that were asked for, and at no other.
#include "comm/bootstrap/tcp_address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/error.hpp"

namespace weft::comm::tcp_address_test {
namespace {

/// True if another program could listen at the root's address.
bool is_open_to_others(const sockaddr_in& address) {
  const File other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool is_reached(const sockaddr_in& address) {
  return static_cast<bool>(connect_until(address, Clock::now() + std::chrono::seconds(5)));
}

sockaddr_in address_of(const char* host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, host, &address.sin_addr), 1);
  return address;
}

/// The port of the loopback that `root` names.
std::uint16_t port_of(const std::string& root) {
  return ntohs(resolve_root(root).addresses.front().sin_port);
}

TEST(ReservedRoot, IsForRank0Alone) {
  std::string root;
  File port = reserve_root(root);
  const sockaddr_in address = resolve_root(root).addresses.front();
  EXPECT_FALSE(is_reached(address));  // nobody listens yet
  EXPECT_FALSE(is_open_to_others(address));
  {
    const File rank0 = listen_at(address, root);
    port.reset();
    EXPECT_FALSE(is_open_to_others(address));
    EXPECT_TRUE(is_reached(address));
  }
}

TEST(ReservedRoot, HasAnotherPortEachTime) {
  std::string roots[2];
  const File first = reserve_root(roots[0]);
  const File second = reserve_root(roots[1]);
  EXPECT_NE(roots[0], roots[1]);
}

TEST(Root, IsLoopbackAlsoByADebianHostsOwnName) {
  EXPECT_TRUE(resolve_root("127.0.1.1:7000").is_loopback());
  EXPECT_TRUE(resolve_root("localhost:7000").is_loopback());
  EXPECT_FALSE(resolve_root("192.0.2.1:7000").is_loopback());
  EXPECT_EQ(resolve_root("127.0.1.1:7000").describe(), "127.0.1.1:7000");
  EXPECT_EQ(resolve_root("localhost:7000").describe(), "localhost:7000 (127.0.0.1)");
}

TEST(Root, ThatIsNoHostAndPortIsRefused) {
  for (const char* root : {"here", ":1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536"}) {
    EXPECT_THROW(resolve_root(root), UsageError) << root;
  }
}

TEST(Root, WithSeveralAddressesIsListenedToAtThoseOfThisHost) {
  std::string text;
  const File port = reserve_root(text);
  const std::uint16_t number = port_of(text);
  const Root root{"many:" + std::to_string(number),
                  {address_of("127.0.0.2", number), address_of("127.0.0.4", number),
                   address_of("192.0.2.1", number)}};
  const std::vector<File> sockets = listen_at_root(root);
  EXPECT_EQ(sockets.size(), 2u);
  EXPECT_TRUE(is_reached(address_of("127.0.0.2", number)));
  EXPECT_TRUE(is_reached(address_of("127.0.0.4", number)));
  EXPECT_FALSE(is_reached(address_of("127.0.0.3", number)));
}

TEST(Root, OfAnotherHostIsAnErrorThatNamesTheAddressesOfThisOne) {
  try {
    listen_at_root(resolve_root("192.0.2.1:7000"));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(),
              "WEFT_ROOT=192.0.2.1:7000: 192.0.2.1 is no address of this host, where rank 0 runs; "
              "its addresses are " +
                  addresses_of_host());
  }
}

}  // namespace
}  // namespace weft::comm::tcp_address_test
