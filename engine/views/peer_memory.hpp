// Peer memory: finds the best view of each other rank of the node, as far as WEFT_VIEW allows, and
// then the addresses at which this process reads and writes that rank's buffers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_id.hpp"
#include "engine/heap/heap.hpp"
#include "engine/heap/peer_heap.hpp"
#include "engine/views/attachments.hpp"
#include "engine/views/view.hpp"
#include "verbs/channel/message_layout.hpp"

namespace weft::engine {

/// Of one rank. A place is a rank's position among the ranks of its node.
///
/// The order is that of View: same process, shared heap, xpmem, cma, staged. Which one a buffer is
/// reached by can differ from buffer to buffer, as only some lie in a shared heap, and from rank to
/// rank. What all ranks of a communicator may count on is agreed by them: set_view().
class PeerMemory {
 public:
  /// What a rank shows to the others, in shared memory. Zero at the beginning.
  struct Published {
    std::atomic<std::uint32_t> heap_hidden{0};
    ProcessId process = {};
    std::uint64_t probe = 0;  // a word that probe() reads, and its address
    std::uint64_t probe_address = 0;
    std::int64_t xpmem_segment = 0;  // 0: none
  };

  PeerMemory(int place, int places);
  /// Fills in what this rank shows. `mine` stays where it is.
  void publish(Published& mine);
  /// What the rank at `place` shows, and its PeerHeap::handle(). A heap that cannot be mapped is no
  /// error. `rank` is its number, for messages.
  void attach(int place, int rank, Published& theirs, std::string_view heap_handle);

  /// Tries the views of all others, once all have attached. The worst of them.
  View probe();
  /// The view that all ranks of the communicator have agreed upon.
  void set_view(View view) noexcept { view_ = view; }
  View view() const noexcept { return view_; }

  /// True when this rank has mapped the shared heaps of all ranks in other processes, and its own
  /// is not hidden.
  bool sees_heaps() const noexcept;
  /// Why it has not; else empty. Why this process cannot use xpmem, where it may; else empty.
  const std::string& why_no_heaps() const noexcept { return why_no_heaps_; }
  const std::string& why_no_xpmem() const noexcept { return why_no_xpmem_; }

  /// Where this process reads and writes what `place` has at `layout`. What is found by xpmem may
  /// be used only within attachments().reach().
  struct Found {
    std::byte* memory = nullptr;  // null: only by cma, or through a helper copy
    View by = View::cma;
  };
  Found find(int place, const verbs::Layout& layout) noexcept;
  Attachments& attachments() noexcept { return attachments_; }

  /// To be called often: tells the others once this process's heap is hidden.
  void tell_hidden() noexcept {
    if (heap::is_hidden()) published_[place_]->heap_hidden.store(1, std::memory_order_relaxed);
  }
  pid_t process_of(int place) const noexcept { return published_[place]->process.number; }

  /// Bytes of other ranks' buffers that this rank has copied or reduced by shared_heap, xpmem or
  /// cma, and those that helper copies have moved (staged).
  std::uint64_t moved_bytes(View view) const noexcept { return moved_[index_of(view)]; }
  void count_moved(View view, std::uint64_t bytes) noexcept {
    moved_[index_of(view)] += bytes;
    if (view == View::shared_heap) heap::count_copied(bytes);
  }

 private:
  View probe(int place);
  bool probe_xpmem(int place);

  int place_;
  View view_ = View::staged;
  std::vector<View> tried_;            // by place: what probe() found
  std::vector<Published*> published_;  // by place
  std::vector<PeerHeap> heaps_;        // by place; empty where there is none
  std::string why_no_heaps_;
  Attachments attachments_;
  std::string why_no_xpmem_;
  std::array<std::uint64_t, kViews> moved_ = {};  // by view
};

}  // namespace weft::engine
