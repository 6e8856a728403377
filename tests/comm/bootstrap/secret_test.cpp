// The secret of a job: from which files it is taken, and what it proves.
#include "comm/bootstrap/secret.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "comm/bootstrap/peer_user.hpp"
#include "comm/bootstrap/tcp_address.hpp"
#include "tests/comm/support/secret_file.hpp"

namespace weft::comm::secret_test {
namespace {

using test::SecretFile;

class ASecret : public testing::Test {
 protected:
  ~ASecret() override { ::unsetenv("WEFT_SECRET_FILE"); }
  static Secret from(const std::string& path) {
    ::setenv("WEFT_SECRET_FILE", path.c_str(), 1);
    return Secret::from_settings();
  }
  static std::string refusal_of(const std::string& path) {
    try {
      from(path);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(ASecret, ProvesByHmacSha256) {
  const SecretFile file(std::string(20, '\x0b'));  // RFC 4231, test case 1
  constexpr std::array<unsigned char, 32> kRight = {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53,
                                                    0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b,
                                                    0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7,
                                                    0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7};
  const Secret secret = from(file.path());
  Proof proof = secret.prove("Hi There");
  for (std::size_t i = 0; i < proof.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned char>(proof[i]), kRight[i]);
  }
  EXPECT_TRUE(secret.accepts("Hi There", proof));
  EXPECT_FALSE(secret.accepts("Hi there", proof));
  proof[31] ^= std::byte{1};
  EXPECT_FALSE(secret.accepts("Hi There", proof));
}

TEST_F(ASecret, DoesNotCountWhiteSpaceAtTheEnd) {
  const SecretFile one("0123456789abcdef"), other("0123456789abcdef \r\n");
  EXPECT_TRUE(from(one.path()).accepts("x", from(other.path()).prove("x")));
}

TEST_F(ASecret, IsRefusedWhereOthersMayReadOrWriteIt) {
  SecretFile file("0123456789abcdef");
  for (const mode_t mode : {0644u, 0640u, 0604u, 0620u, 0602u}) {
    ASSERT_EQ(::chmod(file.path().c_str(), mode), 0);
    EXPECT_EQ(refusal_of(file.path()),
              fmt::format("WEFT_SECRET_FILE={}: mode {:04o}, so others may use it: chmod 600, and "
                          "write it anew",
                          file.path(), mode));
  }
  ASSERT_EQ(::chmod(file.path().c_str(), 0400), 0);
  EXPECT_EQ(refusal_of(file.path()), "");
}

TEST_F(ASecret, IsRefusedWhereItIsShortLongOrNoFile) {
  const SecretFile little("0123456789abcde\n"), much(std::string(Secret::kMostBytes + 1, 'x'));
  EXPECT_EQ(refusal_of(little.path()),
            fmt::format("WEFT_SECRET_FILE={}: 15 bytes, not from 16 to 4096", little.path()));
  EXPECT_EQ(refusal_of(much.path()),
            fmt::format("WEFT_SECRET_FILE={}: 4097 bytes, not from 16 to 4096", much.path()));
  EXPECT_EQ(refusal_of("/tmp"), "WEFT_SECRET_FILE=/tmp: not a file");
  EXPECT_NE(refusal_of("/dev/zero"), "");
  EXPECT_NE(refusal_of(little.path() + ".none"), "");
}

TEST_F(ASecret, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const SecretFile file("0123456789abcdef");
  ASSERT_EQ(::chown(file.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal_of(file.path()),
            fmt::format("WEFT_SECRET_FILE={}: belongs to user 65534, and this process runs as 0",
                        file.path()));
}

TEST_F(ASecret, ThatIsMadeIsInheritedAndNotTheSameTwice) {
  std::string first, second;
  const File one = make_secret(first), other = make_secret(second);
  const Secret secret = from(first);
  ASSERT_TRUE(secret.is_there());
  EXPECT_TRUE(from(first).accepts("x", secret.prove("x")));
  EXPECT_FALSE(from(second).accepts("x", secret.prove("x")));
  struct stat status {};
  ASSERT_EQ(::fstat(one.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_NE(::write(one.get(), "x", 1), 1);
}

TEST_F(ASecret, NeedNotBeThere) {
  ::unsetenv("WEFT_SECRET_FILE");
  EXPECT_FALSE(Secret::from_settings().is_there());
  EXPECT_FALSE(Secret::from_settings().is_declined());
  EXPECT_TRUE(from("none").is_declined());
}

/// The user of the end that `connect` makes in a child of that user.
std::optional<uid_t> seen_user(uid_t user) {
  std::string root;
  const File port = reserve_root(root);
  const sockaddr_in address = resolve_root(root).addresses.front();
  const File listener = listen_at(address, root);
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  File reads(ends[0]), writes(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    writes.reset();
    if (::geteuid() != user && ::seteuid(user) != 0) ::_exit(1);
    const File socket = connect_until(address, Clock::now() + std::chrono::seconds(20));
    char none = 0;
    const auto got = ::read(reads.get(), &none, 1);  // until the parent has looked
    ::_exit(socket && got == 0 ? 0 : 1);
  }
  File socket;
  while (!socket) socket = File(::accept(listener.get(), nullptr, nullptr));
  const auto seen = user_of_peer(socket.get());
  writes.reset();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return seen;
}

TEST(PeerUser, IsTheOneThatConnects) {
  const auto own = seen_user(::geteuid());
  if (!own) GTEST_SKIP() << "this kernel does not tell (sock_diag)";
  EXPECT_EQ(*own, ::geteuid());
  if (::geteuid() == 0) {
    EXPECT_EQ(seen_user(65534), std::optional<uid_t>(65534));
  }
}

}  // namespace
}  // namespace weft::comm::secret_test
