#include "nic_profiles/probe/probe.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "nic_profiles/fit/classify.hpp"
#include "nic_profiles/fit/curve_features.hpp"
#include "nic_profiles/probe/measurement_names.hpp"

namespace weft::nic_profiles {

namespace {

constexpr std::uint64_t kSmall_bytes = 8;
// Sizes at which all sends are measured; the larger stays in the cache of a core.
constexpr std::uint64_t kFewBytes = 16;
constexpr std::uint64_t kCachedBytes = 64 << 10;
constexpr int kRateMessages = 512;                   // of all senders
constexpr std::uint64_t kBandwidthBytes = 32 << 20;  // of a sender, of large messages
constexpr int kMostBandwidthMessages = 64;
constexpr int kLeastBandwidthMessages = 8;
constexpr std::uint64_t kCopyBytes = 16 << 10;
constexpr std::uint64_t kManyBlocks = 64;
constexpr std::uint64_t kQuickCache_bytes = 64 << 20;

constexpr int kMostRounds = 5;  // of taking again what is not steady

struct Stopped {};

/// Whether a measurement is better than another of the same.
bool is_better(const Estimate& one, const Estimate& other) {
  if (is_disturbed(one) != is_disturbed(other)) return is_disturbed(other);
  if (is_disturbed(one)) return one.spread.others < other.spread.others;
  return looseness(one) < looseness(other);
}

std::vector<std::uint64_t> powers(std::uint64_t low, std::uint64_t high, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = low; size <= high; size *= factor) sizes.push_back(size);
  return sizes;
}

/// 1, 2, 4, ... and the most itself.
std::vector<int> counts(int most) {
  std::vector<int> result;
  for (int count = 1; count < most; count *= 2) result.push_back(count);
  result.push_back(most);
  return result;
}

class Prober {
 public:
  Prober(ProbeTarget& target, const Progress& progress, const Course& course)
      : target_(target),
        progress_(progress),
        course_(course),
        quick_(course.effort == Effort::quick) {
    result_.identity = target.identity();
    result_.source = target.source();
  }

  Measurements run() {
    try {
      const std::vector<void (Prober::*)()> parts = {
          &Prober::measure_sends, &Prober::measure_latency,     &Prober::measure_bandwidth,
          &Prober::measure_rates, &Prober::measure_inside_node, &Prober::measure_copies};
      // A first run without the target counts the measurements.
      counting_ = true;
      for (const auto part : parts) (this->*part)();
      counting_ = false;
      total_ = done_;
      done_ = 0;
      for (const auto part : parts) (this->*part)();
      take_again();
      refine_sends();
      refine_cache();
      result_.complete = true;
    } catch (const Stopped&) {
      result_.complete = false;
    }
    result_.use = target_.core_use();
    return std::move(result_);
  }

 private:
  /// What was measured, to be measured again.
  struct Measured {
    std::string name;
    std::function<Estimate()> measure;
    std::function<Estimate()> kept;
    std::function<void(const Estimate&)> keep;
  };

  bool has_time() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() <
           course_.budget_s;
  }

  void look() {
    if (progress_ && !progress_(done_, std::max(total_, done_))) throw Stopped{};
  }

  /// One measurement of a kind. `item` says of what, and gets its time; it goes to the end of
  /// `list`.
  template <class List>
  void take(List& list, const char* kind, typename List::value_type item,
            std::function<Estimate()> measure) {
    if (!counting_) {
      look();
      if (!has_time()) target_.hurry();
      const Estimate estimate = measure();
      item.ns = estimate.ns;
      item.spread = estimate.spread;
      list.push_back(item);
      const std::string name = name_of(kind, item);
      if (course_.taken) course_.taken(name, estimate);
      const std::size_t place = list.size() - 1;
      measured_.push_back({name, std::move(measure),
                           [&list, place] {
                             return Estimate{list[place].ns, list[place].spread};
                           },
                           [&list, place](const Estimate& better) {
                             list[place].ns = better.ns;
                             list[place].spread = better.spread;
                           }});
    }
    ++done_;
  }

  /// What was not steady, in rounds, until a round makes nothing steady.
  void take_again() {
    for (int round = 0; round < kMostRounds && has_time(); ++round) {
      std::vector<const Measured*> unsteady;
      for (const Measured& one : measured_) {
        if (!is_steady(one.kept())) unsteady.push_back(&one);
      }
      total_ += static_cast<int>(unsteady.size());
      bool helps = false;
      for (const Measured* one : unsteady) {
        if (!has_time()) return;
        look();
        const Estimate again = one->measure();
        if (is_better(again, one->kept())) one->keep(again);
        helps |= is_steady(again);
        ++done_;
        if (course_.taken) course_.taken(one->name + ", again", again);
      }
      if (!helps) return;
    }
  }

  void send(std::uint64_t bytes) {
    take(result_.send_busy, "send", {.bytes = bytes},
         [this, bytes] { return target_.send_busy(bytes, Memory::librarys); });
  }

  void measure_sends() {
    for (const auto bytes : powers(1, kLargest_bytes, quick_ ? 4 : 2)) send(bytes);
    for (const auto bytes : {kFewBytes, kCachedBytes}) {
      take(result_.into_caller, "send into a program's memory", {.bytes = bytes},
           [this, bytes] { return target_.send_busy(bytes, Memory::callers); });
    }
    if (!counting_) refine_sends();
  }

  /// Between the last size that is stored and the first that is not.
  void refine_sends() {
    for (;;) {
      const auto pio = find_pio(result_.send_busy);
      if (!pio || pio->all || pio->bytes == 0) return;
      std::uint64_t above = kLargest_bytes;
      for (const Timing& time : result_.send_busy) {
        if (time.bytes > pio->bytes) above = std::min(above, time.bytes);
      }
      const std::uint64_t told = pio->bytes / (quick_ ? 4 : 64);
      if (above - pio->bytes <= std::max<std::uint64_t>(1, told)) return;
      send(pio->bytes + (above - pio->bytes) / 2);
    }
  }

  void latency(std::uint64_t bytes) {
    take(result_.latency, "latency", {.bytes = bytes},
         [this, bytes] { return target_.latency(bytes); });
  }

  void measure_latency() {
    for (const auto bytes : powers(1, kLargest_bytes, quick_ ? 4 : 2)) latency(bytes);
    if (counting_) return;
    // On both sides of the size at which cores stop storing, which shows the cost of starting a
    // transfer by the adapter.
    const auto pio = find_pio(result_.send_busy);
    if (pio && !pio->all && pio->bytes > 0) {
      latency(pio->bytes);
      latency(pio->bytes + std::max<std::uint64_t>(1, pio->bytes / 32));
    }
    // And on both sides of the rendezvous, which shows the cost of one way without data.
    const std::uint64_t eager = result_.identity.hardware.adapter.eager_bytes;
    if (eager == 0 || eager >= kLargest_bytes) return;
    latency(eager);
    latency(eager + 1);
  }

  void steady(std::vector<StreamTiming>& list, const Stream& stream) {
    take(list, "stream", {.stream = stream}, [this, stream] { return target_.steady(stream); });
  }

  void measure_bandwidth() {
    for (const bool both_ways : {true, false}) {
      for (const int pairs : counts(target_.most_pairs())) {
        for (const auto bytes : powers(quick_ ? 4 : 1, kLargest_bytes, quick_ ? 16 : 4)) {
          const auto messages = static_cast<int>(std::clamp<std::uint64_t>(
              kBandwidthBytes / bytes, kLeastBandwidthMessages, kMostBandwidthMessages));
          steady(result_.bandwidths, {pairs, pairs, bytes, messages, both_ways});
        }
      }
    }
  }

  void measure_rates() {
    const auto rate = [&](int senders, int receivers, std::uint64_t bytes) {
      const int messages = std::max(1, kRateMessages / senders);
      steady(result_.rates, {senders, receivers, bytes, messages, false});
    };
    const int most = target_.most_pairs();
    for (const int senders : counts(most)) rate(senders, senders, kSmall_bytes);
    // And of those that the adapter fetches.
    const auto pio = find_pio(result_.send_busy);
    std::vector<std::uint64_t> sizes = {kSmall_bytes};
    if (pio && !pio->all && pio->bytes >= kSmall_bytes) {
      sizes.push_back(pio->bytes + 1);
      rate(1, 1, sizes.back());
    }
    if (most == 1) return;
    rate((most + 1) / 2, 1, kSmall_bytes);  // to see the cost of matching
    for (const auto bytes : sizes) {
      rate(most, 1, bytes);  // one core sees all
      rate(1, most, bytes);  // one core over many connections
    }
    if (sizes.size() > 1) rate(most, most, sizes.back());
  }

  void measure_inside_node() {
    if (target_.most_pairs() > 1) {
      take(result_.signal, "signal", {}, [this] { return target_.signal(); });
    }
    // On a host of one core the two are one.
    if (target_.most_pairs() > 1 && result_.identity.hardware.host.cores != 1) {
      take(result_.turn, "turn of ranks on one core", {}, [this] { return target_.turn(); });
    }
    for (const std::uint64_t bytes : {kSmall_bytes, kCachedBytes}) {
      if (target_.most_pairs() == 1) break;
      take(result_.calls, "copy from a neighbour", {.bytes = bytes},
           [this, bytes] { return target_.call(bytes); });
    }
    for (const std::uint64_t bytes : {kCopyBytes / 4, kCopyBytes}) {
      take(result_.reductions, "reduction", {.bytes = bytes},
           [this, bytes] { return target_.reduce(bytes); });
    }
    for (const std::uint64_t bytes : {std::uint64_t{4096}, kLargest_bytes}) {
      take(result_.registrations, "registration", {.bytes = bytes},
           [this, bytes] { return target_.registration(bytes); });
    }
  }

  void copy(const Copy& copy) {
    take(result_.copies, "copy", {.copy = copy}, [this, copy] { return target_.copy(copy); });
  }

  void measure_copies() {
    const int most = target_.most_pairs();
    for (const Origin origin : {Origin::written, Origin::fresh, Origin::memory}) {
      for (const std::uint64_t blocks : {std::uint64_t{1}, kManyBlocks}) {
        copy({origin, kCopyBytes, blocks, 1});
      }
      copy({origin, 2 * kCopyBytes, 1, 1});
    }
    // The paper's Fig. 5: all cores of a node.
    for (const Origin origin : {Origin::written, Origin::fresh}) {
      for (const auto bytes : powers(1 << 10, 1 << 20, 4)) copy({origin, bytes, 1, most});
    }
    copy({Origin::memory, kLargest_bytes, 1, most});
    measure_cache();
  }

  /// The bytes to touch after writing, so that what was written is in no cache.
  void measure_cache() {
    std::uint64_t most = target_.most_touched_bytes();
    if (quick_) most = std::min(most, kQuickCache_bytes);
    for (const auto bytes : powers(2 * kCopyBytes, most, quick_ ? 4 : 2)) copy_after(bytes);
    if (!counting_) refine_cache();
  }

  void copy_after(std::uint64_t since_bytes) {
    copy({Origin::written, kCopyBytes, 1, 1, since_bytes});
  }

  void refine_cache() {
    for (;;) {
      const auto cache = find_cache(result_.copies);
      if (!cache || cache->above - cache->bytes <= cache->bytes / (quick_ ? 2 : 32)) return;
      copy_after(cache->bytes + (cache->above - cache->bytes) / 2);
    }
  }

  ProbeTarget& target_;
  const Progress& progress_;
  const Course& course_;
  bool quick_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Measurements result_;
  std::vector<Measured> measured_;
  bool counting_ = false;
  int done_ = 0;
  int total_ = 0;
};

}  // namespace

Measurements probe(ProbeTarget& target, const Progress& progress, const Course& course) {
  return Prober(target, progress, course).run();
}

}  // namespace weft::nic_profiles
