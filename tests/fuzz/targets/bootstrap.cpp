// Messages of the TCP bootstrap. The first byte says how many ranks or texts are expected, the rest
// is what comes over a socket: a head and a body, and once more as the body of each kind.
#include <sys/socket.h>

#include <array>

#include "comm/bootstrap/messages.hpp"
#include "comm/bootstrap/tcp_socket.hpp"
#include "target.hpp"

namespace {

using namespace weft::comm;

/// What decoding has accepted is encoded to the same bytes.
template <class Decoded>
void must_be(const Decoded& decoded, Bytes body) {
  if (!decoded) return;
  const std::string again = encode(*decoded).substr(kHeadBytes);
  weft::test::must(again == weft::test::text_of(reinterpret_cast<const std::uint8_t*>(body.data()),
                                                body.size()));
}

void decode_all(Bytes body, std::size_t count) {
  must_be(decode_challenge(body), body);
  must_be(decode_hello(body), body);
  must_be(decode_welcome(body), body);
  must_be(decode_refusal(body), body);
  must_be(decode_table(body, count), body);
  must_be(decode_texts(body, count), body);
  if (const auto failure = decode_failure(body)) {
    for (const char letter : failure->text) {
      weft::test::must(static_cast<unsigned char>(letter) >= ' ' && letter != 127);
    }
  }
}

void send(int socket, Bytes bytes) {
  weft::test::must(::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
                   static_cast<ssize_t>(bytes.size()));
}

/// The bytes come in two pieces, and then the connection ends.
void arrive(Bytes bytes, std::size_t count) {
  if (bytes.size() > 4096) return;
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return;
  }
  const weft::File here(ends[0]);
  weft::File there(ends[1]);
  ArrivingMessage message;
  const auto read = [&] {
    return message.read(
        here.get(),
        {MessageKind::challenge, MessageKind::hello, MessageKind::welcome, MessageKind::refusal,
         MessageKind::table, MessageKind::texts, MessageKind::failure, MessageKind::farewell});
  };
  const std::size_t half = bytes.size() / 2;
  if (half != 0) send(there.get(), bytes.first(half));
  auto state = read();
  if (state == ArrivingMessage::State::partial) {
    send(there.get(), bytes.subspan(half));
    there.reset();
    state = read();
  }
  weft::test::must(state != ArrivingMessage::State::partial);
  if (state != ArrivingMessage::State::whole) return;
  weft::test::must(message.body().size() + kHeadBytes <= bytes.size());
  decode_all(message.body(), count);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const Bytes rest(reinterpret_cast<const std::byte*>(data + 1), bytes - 1);
  (void)decode_head(rest.first(std::min(rest.size(), kHeadBytes)));
  arrive(rest, data[0]);
  decode_all(rest, data[0]);
  return 0;
}
