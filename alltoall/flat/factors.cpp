// Alltoall over the factors of the number of members: an alltoall along each dimension of a grid.
//
// With p = q1 q2 ... qd, the number of a member is written in digits of these radices, the first
// the most significant. In phase k members whose numbers differ in digit k alone exchange, each
// with each: all blocks that must end where digit k is the partner's.
//
//   p = 6 = 3 * 2, member 0 = 00     phase 1: 00 -> 10: blocks for 10 11;  00 -> 20: for 20 21
//                                    phase 2: 00 -> 01: blocks of 00 10 20 for 01
//
// Before phase k a member has, in p places, the blocks whose destination has its first k - 1
// digits, and whose source has its others. A block stands at the place whose first k - 1 digits are
// the source's, and the others the destination's. So what a phase sends to a partner lies at places
// with one digit in common, one slice of strided blocks, and what comes from there goes to the same
// places of the next buffer: nothing is packed. Sources and targets are the first and the last
// buffer; those between take turns.
//
// The prime factors of p are put together as long as they do not pass the radix r; a prime above r
// is a factor by itself. For r >= p that is irecv-isend.
//
// With p members and blocks of m bytes, a member:
//   rounds    d
//   messages  the sum of qk - 1
//   bytes     the sum of (1 - 1/qk) p m; (p m / 2) lg p for r = 2 and p = 2^k, as with Bruck
//   copied    the sum of p m / qk: what a phase leaves where it is
//   stage 0, scratch min(d - 1, 2) p m, and what is packed where the sources or targets of a
//   message are not one slice
// Blocks of different sizes: the same with the sizes of the blocks that pass by, which every member
// on their way must know: not for alltoallv.
// In place: all blocks are copied to scratch first, as with Bruck.
//
// Source: Traeff, "Effective MPI: User-defined Datatypes and Cartesian Communicators for Zero-copy
// All-to-all Communication in Multidimensional Tori", arXiv:2605.29970, 2026.
#include <algorithm>
#include <array>
#include <ranges>

#include "alltoall/flat/algorithms.hpp"
#include "alltoall/flat/transfer.hpp"

namespace weft::alltoall {

using plan::OpId;
using plan::Slice;

namespace {

/// The factors, ascending.
std::vector<int> factors_of(int members, int most) {
  std::vector<int> primes;
  for (int prime = 2; members > 1; ++prime) {
    if (prime > members / prime) prime = members;
    for (; members % prime == 0; members /= prime) primes.push_back(prime);
  }
  std::vector<int> factors;
  for (const int prime : primes | std::views::reverse) {
    const auto fits = std::ranges::find_if(
        factors, [&](int factor) { return static_cast<std::int64_t>(factor) * prime <= most; });
    if (fits == factors.end()) {
      factors.push_back(prime);
    } else {
      *fits *= prime;
    }
  }
  std::ranges::sort(factors);
  return factors;
}

/// What a member has between two phases, place by place: slices of each, or, in scratch where all
/// blocks have one size, places of that size in a row.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Slice& row, std::uint64_t each) : row_(row), each_(each) {}

  /// Ends a place: it has the slices that were appended to slices() since the one before.
  void end_place() { begins_.push_back(slices_.size()); }
  std::vector<Slice>& slices() { return slices_; }
  std::span<const Slice> at(int place) const {
    return std::span(slices_).subspan(begins_[place], begins_[place + 1] - begins_[place]);
  }

  bool is_row() const { return each_ > 0; }
  /// Of a row: `run` places from `first` on, in every `period`.
  Slice part(int first, int run, int period) const {
    const auto bytes = [this](int places) { return static_cast<std::uint64_t>(places) * each_; };
    return Slice::strided(row_.space, row_.owner, row_.offset + bytes(first), bytes(run),
                          row_.bytes() / bytes(period), bytes(period));
  }

 private:
  Slice row_;
  std::uint64_t each_ = 0;
  std::vector<Slice> slices_;
  std::vector<std::size_t> begins_ = {0};
};

class Factors {
 public:
  Factors(plan::Builder& builder, const Exchange& exchange, std::vector<int> radices)
      : builder_(builder), exchange_(exchange), radices_(std::move(radices)) {}

  Arrived run() && {
    if (exchange_.size() == 1) return Transfers(builder_, exchange_).finish();
    for (int to = 0; to < exchange_.size(); ++to) {
      if (exchange_.bytes(exchange_.self, to) > 0) exchange_.source(to, here_.slices());
      here_.end_place();
    }
    weight_ = exchange_.size();
    for (std::size_t phase = 0; phase < radices_.size(); ++phase) run_phase(phase);
    std::ranges::sort(done_);
    done_.erase(std::unique(done_.begin(), done_.end()), done_.end());
    return std::move(done_);
  }

 private:
  /// What stands at some places, as one, and the ops after which it is there, or may be written.
  struct Part {
    std::vector<Slice> slices;
    std::vector<OpId> ready;
  };

  static void add(std::vector<OpId>& ops, const std::vector<OpId>& more) {
    ops.insert(ops.end(), more.begin(), more.end());
  }
  int digit(int member) const { return member / weight_ % radix_; }
  int partner(int distance) const {
    const int own = digit(exchange_.self);
    return exchange_.self + ((own + distance + radix_) % radix_ - own) * weight_;
  }

  void run_phase(std::size_t phase) {
    phase_ = phase;
    radix_ = radices_[phase];
    weight_ /= radix_;
    there_ = next_buffer();
    std::vector<OpId> read;
    std::vector<OpId> written;
    for (int distance = 1; distance < radix_; ++distance) {
      receive(partner(-distance), written);
      send(partner(distance), read);
    }
    keep(read, written);
    blocked_ = std::move(read);
    done_ = std::move(written);
    here_ = std::move(there_);
  }

  bool is_last() const { return phase_ + 1 == radices_.size(); }

  /// The size of what stands at a place once the phase of `weight_` is over.
  std::uint64_t bytes_after(int place) const {
    const int below = exchange_.self % weight_;
    return exchange_.bytes(place - place % weight_ + below,
                           exchange_.self - below + place % weight_);
  }

  Buffer next_buffer() {
    std::vector<std::uint64_t> sizes;
    std::uint64_t all = 0;
    for (int place = 0; place < exchange_.size(); ++place) {
      sizes.push_back(bytes_after(place));
      all += sizes.back();
    }
    Slice& buffer = buffers_[phase_ % 2];
    if (!is_last() && buffer.bytes() < all) buffer = builder_.allocate_scratch(all);
    const auto is_first = [&](std::uint64_t size) { return size == sizes.front(); };
    if (!is_last() && all > 0 && std::ranges::all_of(sizes, is_first)) {
      return {Slice::contiguous(buffer.space, buffer.owner, buffer.offset, all), sizes.front()};
    }
    std::uint64_t offset = buffer.offset;
    Buffer next;
    for (int place = 0; place < exchange_.size(); ++place) {
      if (sizes[place] > 0 && is_last()) exchange_.target(place, next.slices());
      if (sizes[place] > 0 && !is_last()) {
        next.slices().push_back(
            Slice::contiguous(buffer.space, buffer.owner, offset, sizes[place]));
      }
      next.end_place();
      offset += sizes[place];
    }
    return next;
  }

  /// Calls `visit` with every place that has the digit `of`.
  template <class Visit>
  void at_places_with(int of, Visit visit) const {
    for (int first = of * weight_; first < exchange_.size(); first += radix_ * weight_) {
      for (int place = first; place < first + weight_; ++place) visit(place);
    }
  }

  /// What a buffer has at the places with the digit `of`. `ready` appends what a place of a source
  /// or target follows.
  Part collect(const Buffer& buffer, int of,
               const std::function<void(int place, std::vector<OpId>& ops)>& ready) const {
    if (buffer.is_row()) return {{buffer.part(of * weight_, weight_, radix_ * weight_)}, {}};
    Part all;
    at_places_with(of, [&](int place) {
      const auto slices = buffer.at(place);
      all.slices.insert(all.slices.end(), slices.begin(), slices.end());
      if (ready && !slices.empty()) ready(place, all.ready);
    });
    all.slices = plan::coalesce(all.slices);
    return all;
  }

  /// What stands here. After a phase places with one digit have blocks with all of its digits.
  Part from_here(int of) const {
    Part part = collect(here_, of, phase_ == 0 ? exchange_.ready : nullptr);
    if (!part.slices.empty()) add(part.ready, done_);
    return part;
  }

  /// Where it is to stand. A buffer is written again once the phase that read it is over.
  Part into_there(int of) const {
    Part part = collect(there_, of, is_last() ? exchange_.vacated : nullptr);
    if (!part.slices.empty() && !is_last() && phase_ >= 2) part.ready = blocked_;
    return part;
  }

  void send(int to, std::vector<OpId>& read) {
    const Part from = from_here(digit(to));
    if (from.slices.empty()) return;
    const int peer = exchange_.members[to];
    if (from.slices.size() == 1) {
      read.push_back(builder_.send(peer, from.slices.front(), from.ready));
      return;
    }
    std::uint64_t bytes = 0;
    for (const Slice& slice : from.slices) bytes += slice.bytes();
    const Slice packed = builder_.allocate_scratch(bytes);
    std::vector<OpId> copies;
    builder_.gather(packed, from.slices, from.ready, copies);
    builder_.send(peer, packed, copies);
    add(read, copies);
  }

  void receive(int from, std::vector<OpId>& written) {
    const Part into = into_there(digit(from));
    if (into.slices.empty()) return;
    const int peer = exchange_.members[from];
    if (into.slices.size() == 1) {
      written.push_back(builder_.recv(peer, into.slices.front(), into.ready));
      return;
    }
    std::uint64_t bytes = 0;
    for (const Slice& slice : into.slices) bytes += slice.bytes();
    const Slice packed = builder_.allocate_scratch(bytes);
    const OpId received = builder_.recv(peer, packed);
    builder_.scatter(into.slices, packed, plan::After(received, into.ready), written);
  }

  /// Copies what has this member's own digit to the same places of the next buffer.
  void keep(std::vector<OpId>& read, std::vector<OpId>& written) {
    const int own = digit(exchange_.self);
    const Part from = from_here(own);
    const Part into = into_there(own);
    if (from.slices.empty()) return;
    std::vector<OpId> copies;
    builder_.copy(into.slices, from.slices, plan::After(from.ready, into.ready), copies);
    add(read, copies);
    add(written, copies);
  }

  plan::Builder& builder_;
  const Exchange& exchange_;
  const std::vector<int> radices_;
  std::size_t phase_ = 0;
  int radix_ = 1;   // of the phase
  int weight_ = 1;  // of its digit
  Buffer here_;     // what the phase begins with
  Buffer there_;    // and ends with
  std::array<Slice, 2> buffers_ = {};
  std::vector<OpId> done_;     // the ops of the phase before that wrote `here_`
  std::vector<OpId> blocked_;  // and those that read what it began with
};

}  // namespace

Arrived factors(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters) {
  return Factors(builder, exchange, factors_of(exchange.size(), parameters.radix)).run();
}

}  // namespace weft::alltoall
