// Messages of the TCP bootstrap: what is encoded is decoded, and nothing else is.
#include "comm/bootstrap/messages.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>

#include <rapidcheck/gtest.h>
#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/bootstrap/tcp_socket.hpp"

namespace weft::comm::bootstrap_messages_test {
namespace {

Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
Bytes body_of(std::string_view message) {
  return bytes_of(message).subspan(kHeadBytes);
}

template <std::size_t kBytes>
std::array<std::byte, kBytes> any_bytes() {
  std::array<std::byte, kBytes> bytes;
  for (std::byte& one : bytes) one = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  return bytes;
}

/// The head says what follows it.
void expect_head(const std::string& message, MessageKind kind) {
  const auto head = decode_head(bytes_of(message).first(kHeadBytes));
  RC_ASSERT(head.has_value());
  RC_ASSERT(head->kind == kind);
  RC_ASSERT(head->bytes == message.size() - kHeadBytes);
  RC_ASSERT(head->bytes <= most_bytes(kind));
}

/// No part of a body, and nothing longer, is one.
template <class Decode>
void expect_whole_only(const std::string& message, Decode decode) {
  const Bytes body = body_of(message);
  RC_ASSERT(static_cast<bool>(decode(body)));
  RC_ASSERT(!decode(body.first(*rc::gen::inRange<std::size_t>(0, body.size()))));
  RC_ASSERT(!decode(body_of(message + "x")));
}

RC_GTEST_PROP(BootstrapMessage, OfAHandshakeIsRead, ()) {
  Challenge challenge{any_bytes<32>(), *rc::gen::arbitrary<std::uint8_t>()};
  Hello hello{any_bytes<32>(),
              any_bytes<32>(),
              *rc::gen::arbitrary<std::uint32_t>(),
              *rc::gen::arbitrary<std::uint32_t>(),
              *rc::gen::arbitrary<std::uint32_t>(),
              *rc::gen::arbitrary<std::uint16_t>()};
  expect_head(encode(challenge), MessageKind::challenge);
  expect_whole_only(encode(challenge), decode_challenge);
  const Challenge read = *decode_challenge(body_of(encode(challenge)));
  RC_ASSERT(read.nonce == challenge.nonce && read.has_secret == challenge.has_secret);
  expect_head(encode(hello), MessageKind::hello);
  expect_whole_only(encode(hello), decode_hello);
  const Hello heard = *decode_hello(body_of(encode(hello)));
  RC_ASSERT(heard.nonce == hello.nonce && heard.proof == hello.proof);
  RC_ASSERT(std::tie(heard.rank, heard.to, heard.size, heard.port) ==
            std::tie(hello.rank, hello.to, hello.size, hello.port));
  expect_head(encode(Welcome{hello.proof}), MessageKind::welcome);
  expect_whole_only(encode(Welcome{hello.proof}), decode_welcome);
  expect_whole_only(encode(Refusal::user), decode_refusal);
}

RC_GTEST_PROP(BootstrapMessage, OfTextsIsRead, (const std::vector<std::string>& texts)) {
  const std::string message = encode(texts);
  expect_head(message, MessageKind::texts);
  RC_ASSERT(decode_texts(body_of(message), texts.size()) == texts);
  RC_ASSERT(!decode_texts(body_of(message), texts.size() + 1));
  RC_ASSERT(!decode_texts(body_of(message + "x"), texts.size()));
}

RC_GTEST_PROP(BootstrapMessage, OfATableIsRead,
              (const std::vector<std::pair<std::uint32_t, std::uint16_t>>& ranks)) {
  std::vector<Whereabouts> table;
  for (const auto& [address, port] : ranks) table.push_back({address, port});
  const std::string message = encode(table);
  expect_head(message, MessageKind::table);
  RC_ASSERT(decode_table(body_of(message), table.size()) == table);
  RC_ASSERT(!decode_table(body_of(message), table.size() + 1));
}

TEST(BootstrapMessage, OfAFarewellIsAHeadAlone) {
  const std::string message = encode(Farewell());
  EXPECT_EQ(message.size(), kHeadBytes);
  const auto head = decode_head(bytes_of(message));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->kind, MessageKind::farewell);
}

RC_GTEST_PROP(BootstrapMessage, OfAFailureIsOneLine, (bool usage, const std::string& text)) {
  const std::string message = encode(Failure{usage, text});
  expect_head(message, MessageKind::failure);
  const auto failure = decode_failure(body_of(message));
  RC_ASSERT(failure.has_value());
  RC_ASSERT(failure->is_usage_error == usage);
  RC_ASSERT(failure->text.size() == std::min(text.size(), kMostFailureBytes));
  RC_ASSERT(failure->text.find('\n') == std::string::npos);
}

RC_GTEST_PROP(BootstrapMessage, IsNothingElse, (const std::string& bytes)) {
  // Any bytes are read without harm; what is decoded says no more than the bytes do. (RC_ASSERT
  // takes both sides of an `or`.)
  decode_head(bytes_of(bytes));
  decode_challenge(bytes_of(bytes));
  decode_failure(bytes_of(bytes));
  const auto count = *rc::gen::arbitrary<std::size_t>();
  const auto texts = decode_texts(bytes_of(bytes), count);
  if (texts) RC_ASSERT(texts->size() == count);
  const auto table = decode_table(bytes_of(bytes), count);
  if (table) RC_ASSERT(table->size() == count);
}

TEST(BootstrapMessage, LongerThanItsKindMayBeIsRefusedByItsHead) {
  std::string hello = encode(Hello{});
  ASSERT_TRUE(decode_head(bytes_of(hello).first(kHeadBytes)));
  hello[4] = static_cast<char>(hello[4] + 1);
  EXPECT_FALSE(decode_head(bytes_of(hello).first(kHeadBytes)));
  std::string texts = encode(std::vector<std::string>{"a"});
  texts[7] = '\x7f';
  EXPECT_FALSE(decode_head(bytes_of(texts).first(kHeadBytes)));
}

TEST(BootstrapMessage, LengthsThatTogetherAreTooLongAreRefused) {
  std::string message = encode(std::vector<std::string>{"abcd", "efgh"});
  ASSERT_TRUE(decode_texts(body_of(message), 2));
  message[kHeadBytes + 7] = '\xff';  // the upper byte of the second length
  EXPECT_FALSE(decode_texts(body_of(message), 2));
}

TEST(BootstrapMessage, TakesMemoryForWhatHasComeOnly) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  const File mine(ends[0]), other(ends[1]);
  std::string head = encode(std::vector<std::string>{"a"}).substr(0, kHeadBytes);
  head[7] = '\x0f';  // 240 MiB
  ASSERT_TRUE(decode_head(bytes_of(head)));
  ASSERT_TRUE(send_at_once(other.get(), head + "abc"));
  const auto mapped = ::mallinfo2().hblkhd;  // large blocks
  ArrivingMessage message;
  EXPECT_EQ(message.read(mine.get(), {MessageKind::texts}), ArrivingMessage::State::partial);
  EXPECT_EQ(message.body().size(), 3u);
  EXPECT_LT(::mallinfo2().hblkhd - mapped, std::size_t{1} << 20);
}

TEST(BootstrapMessage, OfAKindThatIsNotExpectedIsForeign) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  const File mine(ends[0]), other(ends[1]);
  ASSERT_TRUE(send_at_once(other.get(), encode(std::vector<std::string>{"a"})));
  ArrivingMessage message;
  EXPECT_EQ(message.read(mine.get(), {MessageKind::hello}), ArrivingMessage::State::foreign);
}

}  // namespace
}  // namespace weft::comm::bootstrap_messages_test
