// Recordings of programs' collectives, as `weft replay` reads them. The bytes are those of one
// block, to which the head and the checksum are added: else hardly any input came further.
#include "mpi/recording/recording.hpp"

#include "mpi/recording/bytes.hpp"
#include "target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace weft::test;
  using namespace weft::mpi;
  const std::string_view text = text_of(data, bytes);
  may_refuse([&] { (void)parse_recording("file", text, true); });
  may_refuse([&] {
    ByteWriter framed;
    framed.text(text);
    framed.word(checksum(text));
    const Recording recording = parse_recording("file", recording_head() + framed.bytes());
    must(parse_recording("file", to_bytes(recording)) == recording);
  });
  return 0;
}
