#include "comm/bootstrap/messages.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace weft::comm {

namespace {

constexpr std::uint8_t kMagic[2] = {'w', 'f'};
constexpr std::uint8_t kVersion = 2;
constexpr std::uint32_t kMostTextBytes = 256 << 20;  // of all that ranks tell in a step
constexpr std::uint32_t kMostRanks = 1 << 20;
constexpr std::size_t kWhereaboutsBytes = 6;

class Writer {
 public:
  void number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> 8 * i & 0xff);
  }
  void bytes(Bytes bytes) {
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void text(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Takes from the front of some bytes. After one call that found too few, nothing it has returned
/// counts: is_done() is false.
class Reader {
 public:
  explicit Reader(Bytes bytes) noexcept : left_(bytes) {}

  Bytes take(std::size_t bytes) noexcept {
    if (bytes > left_.size()) {
      failed_ = true;
      left_ = {};
      return {};
    }
    const Bytes front = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return front;
  }
  template <class Number>
  void number(Number& value) noexcept {
    std::uint64_t sum = 0;
    std::size_t shift = 0;
    for (const std::byte byte : take(sizeof value)) {
      sum |= static_cast<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    value = static_cast<Number>(sum);
  }
  template <std::size_t kBytes>
  void array(std::array<std::byte, kBytes>& value) noexcept {
    std::ranges::copy(take(kBytes), value.begin());
  }
  std::size_t left() const noexcept { return left_.size(); }
  /// All bytes were there, and no more.
  bool is_done() const noexcept { return !failed_ && left_.empty(); }

 private:
  Bytes left_;
  bool failed_ = false;
};

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string with_head(MessageKind kind, std::string_view body) {
  if (body.size() > most_bytes(kind)) {
    throw Error(fmt::format("{} bytes in one step of the bootstrap: at most {}", body.size(),
                            most_bytes(kind)));
  }
  Writer writer;
  for (const std::uint8_t letter : kMagic) writer.number(letter, 1);
  writer.number(kVersion, 1);
  writer.number(static_cast<std::uint64_t>(kind), 1);
  writer.number(body.size(), 4);
  writer.text(body);
  return writer.take();
}

/// Printable characters of one line stay, any other becomes a question mark.
std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kMostFailureBytes));
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == 127) letter = '?';
  }
  return line;
}

std::string to_prove(std::string_view what, const Challenge& challenge, const Hello& hello) {
  Writer writer;
  writer.text(what);
  writer.bytes(challenge.nonce);
  writer.bytes(hello.nonce);
  writer.number(challenge.has_secret, 1);
  writer.number(hello.rank, 4);
  writer.number(hello.to, 4);
  writer.number(hello.size, 4);
  writer.number(hello.port, 2);
  return writer.take();
}

}  // namespace

std::uint32_t most_bytes(MessageKind kind) noexcept {
  switch (kind) {
    case MessageKind::challenge:
      return sizeof(Nonce) + 1;
    case MessageKind::hello:
      return sizeof(Nonce) + sizeof(Proof) + 14;
    case MessageKind::welcome:
      return sizeof(Proof);
    case MessageKind::refusal:
      return 1;
    case MessageKind::table:
      return kMostRanks * kWhereaboutsBytes;
    case MessageKind::texts:
      return kMostTextBytes;
    case MessageKind::failure:
      return kMostFailureBytes + 1;
    case MessageKind::farewell:
      return 0;
  }
  return 0;
}

std::optional<MessageHead> decode_head(Bytes head) noexcept {
  if (head.size() != kHeadBytes) return std::nullopt;
  Reader reader(head);
  std::uint8_t first = 0, second = 0, version = 0, kind = 0;
  MessageHead result;
  reader.number(first);
  reader.number(second);
  reader.number(version);
  reader.number(kind);
  reader.number(result.bytes);
  if (first != kMagic[0] || second != kMagic[1] || version != kVersion) return std::nullopt;
  if (kind < static_cast<std::uint8_t>(MessageKind::challenge) ||
      kind > static_cast<std::uint8_t>(MessageKind::farewell)) {
    return std::nullopt;
  }
  result.kind = static_cast<MessageKind>(kind);
  if (result.bytes > most_bytes(result.kind)) return std::nullopt;
  return result;
}

std::string encode(const Challenge& challenge) {
  Writer body;
  body.bytes(challenge.nonce);
  body.number(challenge.has_secret, 1);
  return with_head(MessageKind::challenge, body.take());
}

std::string encode(const Hello& hello) {
  Writer body;
  body.bytes(hello.nonce);
  body.bytes(hello.proof);
  body.number(hello.rank, 4);
  body.number(hello.to, 4);
  body.number(hello.size, 4);
  body.number(hello.port, 2);
  return with_head(MessageKind::hello, body.take());
}

std::string encode(const Welcome& welcome) {
  return with_head(MessageKind::welcome, text_of(welcome.proof));
}

std::string encode(Refusal refusal) {
  return with_head(MessageKind::refusal, std::string(1, static_cast<char>(refusal)));
}

std::string encode(std::span<const Whereabouts> table) {
  Writer body;
  for (const Whereabouts& one : table) {
    body.number(one.address, 4);
    body.number(one.port, 2);
  }
  return with_head(MessageKind::table, body.take());
}

std::string encode(std::span<const std::string> texts) {
  Writer body;
  for (const std::string& text : texts) body.number(text.size(), 4);
  for (const std::string& text : texts) {
    if (text.size() > kMostTextBytes) {
      throw Error(fmt::format("{} bytes in one step of the bootstrap: at most {}", text.size(),
                              kMostTextBytes));
    }
    body.text(text);
  }
  return with_head(MessageKind::texts, body.take());
}

std::string encode(const Failure& failure) {
  Writer body;
  body.number(failure.is_usage_error ? 1 : 0, 1);
  body.text(one_line(failure.text));
  return with_head(MessageKind::failure, body.take());
}

std::string encode(Farewell /*farewell*/) {
  return with_head(MessageKind::farewell, {});
}

std::optional<Challenge> decode_challenge(Bytes body) noexcept {
  Reader reader(body);
  Challenge challenge;
  reader.array(challenge.nonce);
  reader.number(challenge.has_secret);
  return reader.is_done() ? std::optional(challenge) : std::nullopt;
}

std::optional<Hello> decode_hello(Bytes body) noexcept {
  Reader reader(body);
  Hello hello;
  reader.array(hello.nonce);
  reader.array(hello.proof);
  reader.number(hello.rank);
  reader.number(hello.to);
  reader.number(hello.size);
  reader.number(hello.port);
  return reader.is_done() ? std::optional(hello) : std::nullopt;
}

std::optional<Welcome> decode_welcome(Bytes body) noexcept {
  Reader reader(body);
  Welcome welcome;
  reader.array(welcome.proof);
  return reader.is_done() ? std::optional(welcome) : std::nullopt;
}

std::optional<Refusal> decode_refusal(Bytes body) noexcept {
  Reader reader(body);
  std::uint8_t why = 0;
  reader.number(why);
  const bool is_known = why >= static_cast<std::uint8_t>(Refusal::secret) &&
                        why <= static_cast<std::uint8_t>(Refusal::user);
  if (!reader.is_done() || !is_known) return std::nullopt;
  return static_cast<Refusal>(why);
}

std::optional<std::vector<Whereabouts>> decode_table(Bytes body, std::size_t ranks) {
  if (ranks > kMostRanks || body.size() != ranks * kWhereaboutsBytes) return std::nullopt;
  Reader reader(body);
  std::vector<Whereabouts> table(ranks);
  for (Whereabouts& one : table) {
    reader.number(one.address);
    reader.number(one.port);
  }
  return table;
}

std::optional<std::vector<std::string>> decode_texts(Bytes body, std::size_t count) {
  if (count > body.size() / 4) return std::nullopt;
  Reader lengths(body.first(4 * count));
  Reader reader(body.subspan(4 * count));
  std::vector<std::string> texts;
  texts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bytes = 0;
    lengths.number(bytes);
    if (bytes > reader.left()) return std::nullopt;
    texts.push_back(text_of(reader.take(bytes)));
  }
  if (!reader.is_done()) return std::nullopt;
  return texts;
}

std::optional<Failure> decode_failure(Bytes body) {
  Reader reader(body);
  std::uint8_t is_usage_error = 0;
  reader.number(is_usage_error);
  const std::string text = text_of(reader.take(reader.left()));
  if (!reader.is_done() || is_usage_error > 1 || text.size() > kMostFailureBytes) {
    return std::nullopt;
  }
  return Failure{is_usage_error == 1, one_line(text)};
}

std::string hello_to_prove(const Challenge& challenge, const Hello& hello) {
  return to_prove("weft bootstrap: hello", challenge, hello);
}

std::string welcome_to_prove(const Challenge& challenge, const Hello& hello) {
  return to_prove("weft bootstrap: welcome", challenge, hello);
}

}  // namespace weft::comm
