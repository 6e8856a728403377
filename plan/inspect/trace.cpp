#include "plan/inspect/trace.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace weft::plan {

namespace {

constexpr double kPsPerUs = 1e6;

/// As JSON has it.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    static_cast<unsigned char>(c) < ' ' ? result += fmt::format("\\u{:04x}", c) : result += c;
  }
  return result + '"';
}

class EventWriter {
 public:
  void name(std::string_view what, int process, int thread, const std::string& text) {
    begin();
    fmt::format_to(out_, R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what,
                   process, thread, quoted(text));
  }

  void busy(const Span& span, int process) {
    begin();
    fmt::format_to(out_,
                   R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.6f},"dur":{:.6f},"args":{{)"
                   R"("op":{},"peer":{},"bytes":{}}}}})",
                   to_string(span.kind), process, span.rank, us(span.begin_ps),
                   us(span.end_ps - span.begin_ps), span.op, span.peer, span.bytes);
  }

  /// A span of its own track, as messages of one rank overlap.
  void message(const Span& span, int process) {
    const std::uint64_t id = next_message_++;
    for (const bool ends : {false, true}) {
      begin();
      fmt::format_to(out_,
                     R"({{"ph":"{}","cat":"message","id":{},"name":"{} to {}","pid":{},"tid":{},)"
                     R"("ts":{:.6f},"args":{{"op":{},"bytes":{}}}}})",
                     ends ? "e" : "b", id, span.rank, span.peer, process, span.rank,
                     us(ends ? span.end_ps : span.begin_ps), span.op, span.bytes);
    }
  }

  std::string finish() && { return std::move(text_) + "\n]}\n"; }

 private:
  static double us(std::int64_t time_ps) { return static_cast<double>(time_ps) / kPsPerUs; }
  void begin() { text_ += text_.back() == '[' ? "\n" : ",\n"; }

  std::string text_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
  std::back_insert_iterator<std::string> out_ = std::back_inserter(text_);
  std::uint64_t next_message_ = 1;
};

}  // namespace

std::string to_trace_events(std::span<const Trace> traces) {
  EventWriter writer;
  int first_process = 1;
  for (const Trace& trace : traces) {
    const auto ranks = static_cast<int>(trace.node_of_rank.size());
    int nodes = 0;
    for (const int node : trace.node_of_rank) nodes = std::max(nodes, node + 1);
    for (int node = 0; node < nodes; ++node) {
      writer.name("process_name", first_process + node, 0,
                  fmt::format("{}: node {}", trace.name, node));
    }
    for (int rank = 0; rank < ranks; ++rank) {
      writer.name("thread_name", first_process + trace.node_of_rank[rank], rank,
                  fmt::format("rank {}", rank));
    }
    for (const Span& span : trace.spans) {
      const int process = first_process + trace.node_of_rank[span.rank];
      span.activity == Activity::busy ? writer.busy(span, process) : writer.message(span, process);
    }
    first_process += nodes;
  }
  return std::move(writer).finish();
}

}  // namespace weft::plan
