#include "plan/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.hpp"
#include "plan/builder.hpp"

namespace weft::plan {

namespace {

constexpr std::array kKinds = {OpKind::send,   OpKind::recv,   OpKind::copy,
                               OpKind::reduce, OpKind::signal, OpKind::wait};

constexpr std::size_t kQuotedBytes = 120;  // of a line, in an error

/// One line, taken apart word by word.
class Line {
 public:
  Line(std::size_t number, std::string_view text) : number_(number), text_(text), rest_(text) {}

  [[noreturn]] void fail(std::string_view why) const {
    std::string quoted(text_.substr(0, kQuotedBytes));
    if (quoted.size() < text_.size()) quoted += "...";
    // Control characters must not cut the message short, nor disturb a terminal.
    const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
    std::ranges::replace_if(quoted, is_control, '?');
    std::string reason(why);
    std::ranges::replace_if(reason, is_control, '?');
    throw_usage("plan, line {}: '{}': {}", number_, quoted, reason);
  }

  bool done() {
    skip_blanks();
    return rest_.empty();
  }

  std::string_view word() {
    skip_blanks();
    if (rest_.empty()) fail("ends too early");
    const auto length = std::min(rest_.find_first_of(" \t\r"), rest_.size());
    const auto result = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return result;
  }

  void expect(std::string_view expected) {
    if (word() != expected) fail(fmt::format("expected '{}'", expected));
  }

  template <class Number = std::uint64_t>
  Number number() {
    return number_in<Number>(word());
  }

  template <class Number = std::uint64_t>
  Number number_in(std::string_view digits) const {
    Number value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      fail(fmt::format("'{}' is not a number that fits", digits));
    }
    return value;
  }

  Slice slice() {
    const auto text = word();
    try {
      return parse_slice(text);
    } catch (const UsageError& error) {
      fail(error.what());
    }
  }

  /// "after 1,2,5" or nothing, then the end of the line.
  std::vector<OpId> after() {
    std::vector<OpId> ids;
    if (done()) return ids;
    expect("after");
    std::string_view list = word();
    while (true) {
      const auto comma = list.find(',');
      ids.push_back(number_in<OpId>(list.substr(0, comma)));
      if (ids.back() == kNoOp) fail(fmt::format("'{}' is no op", list.substr(0, comma)));
      if (comma == list.npos) break;
      list.remove_prefix(comma + 1);
    }
    end();
    return ids;
  }

  void end() {
    if (!done()) fail(fmt::format("'{}' is too much", rest_));
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
  }

  std::size_t number_;
  std::string_view text_;
  std::string_view rest_;
};

/// Hands out the lines that are neither empty nor comments.
class Lines {
 public:
  Lines(std::string_view text, std::size_t first_line) : rest_(text), number_(first_line - 1) {}

  std::optional<Line> next() {
    while (!rest_.empty()) {
      const auto length = std::min(rest_.find('\n'), rest_.size());
      std::string_view text = rest_.substr(0, length);
      rest_.remove_prefix(std::min(length + 1, rest_.size()));
      ++number_;
      text = text.substr(0, text.find('#'));
      if (text.find_first_not_of(" \t\r") != text.npos) return Line(number_, text);
    }
    return std::nullopt;
  }

  Line header(std::string_view what) {
    auto line = next();
    if (!line) throw_usage("plan: ends before its line '{}'", what);
    line->expect(what);
    return *line;
  }

 private:
  std::string_view rest_;
  std::size_t number_;
};

void parse_op(Line& line, Builder& builder, OpId expected) {
  if (line.number<OpId>() != expected)
    line.fail(fmt::format("ops are numbered in order, next is {}", expected));
  const auto name = line.word();
  const auto kind = std::ranges::find(kKinds, name, [](OpKind k) { return to_string(k); });
  if (kind == kKinds.end()) line.fail("the op is not send, recv, copy, reduce, signal or wait");
  OpId id = kNoOp;
  switch (*kind) {
    case OpKind::send: {
      const int peer = line.number<int>();
      const Slice src = line.slice();
      id = builder.send(peer, src, line.after());
      break;
    }
    case OpKind::recv: {
      const int peer = line.number<int>();
      const Slice dst = line.slice();
      id = builder.recv(peer, dst, line.after());
      break;
    }
    case OpKind::copy: {
      const Slice dst = line.slice();
      line.expect("<-");
      const Slice src = line.slice();
      id = builder.copy(dst, src, line.after());
      break;
    }
    case OpKind::reduce: {
      const Slice dst = line.slice();
      line.expect("<-");
      const auto side = line.word();
      if (side != "left" && side != "right") line.fail("expected left or right after the arrow");
      const Slice src = line.slice();
      id = builder.reduce(dst, src, side == "left" ? Operand::left : Operand::right, line.after());
      break;
    }
    case OpKind::signal: {
      const int peer = line.number<int>();
      id = builder.signal(peer, line.after());
      break;
    }
    case OpKind::wait: {
      const int peer = line.number<int>();
      id = builder.wait(peer, line.after());
      break;
    }
  }
  if (id != expected) line.fail("the op moves nothing");
}

}  // namespace

std::string to_string(const Op& op) {
  switch (op.kind) {
    case OpKind::send:
      return fmt::format("send {} {}", op.peer, to_string(op.src));
    case OpKind::recv:
      return fmt::format("recv {} {}", op.peer, to_string(op.dst));
    case OpKind::copy:
      return fmt::format("copy {} <- {}", to_string(op.dst), to_string(op.src));
    case OpKind::reduce:
      return fmt::format("reduce {} <- {} {}", to_string(op.dst),
                         op.dst_operand == Operand::left ? "left" : "right", to_string(op.src));
    case OpKind::signal:
    case OpKind::wait:
      return fmt::format("{} {}", to_string(op.kind), op.peer);
  }
  return "?";
}

std::string to_text(const Plan& plan) {
  std::string text =
      fmt::format("weft-plan 1\nrank {} of {}\nbytes input {} output {} stage {} scratch {}\n",
                  plan.rank(), plan.ranks(), plan.input_bytes(), plan.output_bytes(),
                  plan.stage_bytes(), plan.scratch_bytes());
  auto out = std::back_inserter(text);
  for (OpId id = 0; id < plan.ops().size(); ++id) {
    fmt::format_to(out, "{} {}", id, to_string(plan.ops()[id]));
    if (!plan.after(id).empty()) fmt::format_to(out, " after {}", fmt::join(plan.after(id), ","));
    text += '\n';
  }
  return text;
}

Plan parse(std::string_view text, std::size_t first_line) {
  Lines lines(text, first_line);
  Line version = lines.header("weft-plan");
  if (version.number() != 1) version.fail("this reads version 1");
  version.end();
  Line ranks = lines.header("rank");
  const int rank = ranks.number<int>();
  ranks.expect("of");
  const int size = ranks.number<int>();
  ranks.end();
  if (size < 1) ranks.fail("a plan has at least 1 rank");
  if (rank < 0 || rank >= size) ranks.fail(fmt::format("ranks are 0 to {}", size - 1));
  Line sizes = lines.header("bytes");
  std::array<std::uint64_t, 4> bytes{};
  for (std::size_t space = 0; space < bytes.size(); ++space) {
    sizes.expect(to_string(static_cast<Space>(space)));
    bytes[space] = sizes.number();
  }
  sizes.end();
  const auto allocatable = [&](Space space) {
    const std::uint64_t wanted = bytes[static_cast<std::size_t>(space)];
    if (wanted % kSliceAlignment != 0 || wanted >= 1ull << 62) {
      sizes.fail(
          fmt::format("{} is not a multiple of {} below 2^62", to_string(space), kSliceAlignment));
    }
    return wanted;
  };
  Builder builder(rank, size, bytes[0], bytes[1]);
  builder.allocate_stage(allocatable(Space::stage));
  builder.allocate_scratch(allocatable(Space::scratch));
  OpId expected = 0;
  while (auto line = lines.next()) {
    try {
      parse_op(*line, builder, expected++);
    } catch (const UsageError& error) {
      if (std::string_view(error.what()).starts_with("plan, line")) throw;
      line->fail(error.what());
    }
  }
  return std::move(builder).finish();
}

}  // namespace weft::plan
