// Messages of the TCP bootstrap: what they are, and their bytes. Decoding reads any bytes whatever:
// lengths and counts are checked before memory is taken for what they count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::comm {

using Bytes = std::span<const std::byte>;
using Nonce = std::array<std::byte, 32>;  // random, of one connection
using Proof = std::array<std::byte, 32>;  // HMAC-SHA-256 under the secret of the job

enum class MessageKind : std::uint8_t {
  challenge = 1,  ///< Of who listens, as soon as somebody has connected.
  hello,          ///< The answer, with a challenge of its own.
  welcome,        ///< The answer to that: both ends know the secret.
  refusal,        ///< Instead of a welcome: a Refusal, one byte.
  table,          ///< Where all ranks listen.
  texts,          ///< What ranks tell each other.
  failure,        ///< The set-up has failed on the sender, and why.
  farewell,       ///< The sender has done its part and closes the connection. No body.
};

/// Before each message. Its bytes: "wf", version, kind, length of the body in 4 bytes, the lowest
/// first, as all numbers here.
struct MessageHead {
  MessageKind kind = MessageKind::challenge;
  std::uint32_t bytes = 0;  // of the body
};
constexpr std::size_t kHeadBytes = 8;
/// Of a body of this kind.
std::uint32_t most_bytes(MessageKind kind) noexcept;
/// Nothing when it is not of weft's, of another version, or longer than its kind may be.
std::optional<MessageHead> decode_head(Bytes head) noexcept;

struct Challenge {
  Nonce nonce{};
  std::uint8_t has_secret = 0;  // the sender has one
};

struct Hello {
  Nonce nonce{};
  Proof proof{};
  std::uint32_t rank = 0;  // of the sender
  std::uint32_t to = 0;    // the rank with which it wants to speak
  std::uint32_t size = 0;  // of the job
  std::uint16_t port = 0;  // where the sender listens
};

struct Welcome {
  Proof proof{};
};

enum class Refusal : std::uint8_t { secret = 1, user };

/// Where a rank listens, an IPv4 address.
struct Whereabouts {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  bool operator==(const Whereabouts&) const = default;
};

struct Failure {
  bool is_usage_error = false;
  std::string text;  // one line of printable characters, at most kMostFailureBytes
};
constexpr std::size_t kMostFailureBytes = 1000;

struct Farewell {};

// A whole message, head and body.
std::string encode(const Challenge& challenge);
std::string encode(const Hello& hello);
std::string encode(const Welcome& welcome);
std::string encode(Refusal refusal);
std::string encode(std::span<const Whereabouts> table);
/// A text each. Error when they are too long for one message.
std::string encode(std::span<const std::string> texts);
std::string encode(const Failure& failure);
std::string encode(Farewell farewell);

// Of a body. Nothing when it is not one that the functions above write.
std::optional<Challenge> decode_challenge(Bytes body) noexcept;
std::optional<Hello> decode_hello(Bytes body) noexcept;
std::optional<Welcome> decode_welcome(Bytes body) noexcept;
std::optional<Refusal> decode_refusal(Bytes body) noexcept;
/// Of so many ranks.
std::optional<std::vector<Whereabouts>> decode_table(Bytes body, std::size_t ranks);
/// So many of them.
std::optional<std::vector<std::string>> decode_texts(Bytes body, std::size_t count);
std::optional<Failure> decode_failure(Bytes body);

/// What the proof in a hello, and that in a welcome, is an HMAC of: both nonces, both ranks, and
/// which of the two it is. Each end has chosen one of the nonces, so no proof serves twice.
std::string hello_to_prove(const Challenge& challenge, const Hello& hello);
std::string welcome_to_prove(const Challenge& challenge, const Hello& hello);

}  // namespace weft::comm
