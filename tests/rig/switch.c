// A lossless Ethernet switch between guests that counts what crosses it.
//
//   switch FD...    a datagram socket for each guest, in order, as QEMU's `-netdev dgram` takes one
//
// Guest k has the addresses 52:54:00:00:r:k, one for each of its rails r. A frame whose destination
// has no room is held, and nothing more is read from its source until it has gone: nothing is lost,
// unless a guest takes nothing for kPatience_ms. QEMU's own ways to join more than two guests lose
// frames, and a lost RoCE frame costs a timeout.
//
// UDP datagrams to port 4790, whatever their address, are for the switch:
//   mark NAME        prints what crossed since the last mark, one line of JSON, and counts anew
//   drop FRAMES MS   lets so many more RoCE frames pass, then drops every frame for so long
// On SIGTERM it prints the rest as the mark "end" and ends.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { kGuests = 16, kFrameBytes = 70000, kBatch = 64, kPatience_ms = 2000 };
enum { kRocePort = 4791, kCommandPort = 4790 };

struct guest {
  int socket;
  unsigned waiting;  // destinations that the held frame still has to reach, one bit each
  int64_t since_ms;  // when it was first held
  size_t bytes;
  uint8_t frame[kFrameBytes];
};

struct counters {
  unsigned long long roce_frames, roce_bytes, messages, other_frames;
};

static struct guest guests[kGuests];
static int count;
static struct counters counters[kGuests][kGuests];
static unsigned long long dropped;
static long long frames_until_drop = -1;
static int64_t drop_ms, drop_until_ms;
static volatile sig_atomic_t ending;

static void on_term(int signal) {
  (void)signal;
  ending = 1;
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void print_mark(const char* name) {
  printf("{\"mark\": \"%s\", \"dropped\": %llu, \"pairs\": [", name, dropped);
  const char* separator = "";
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      const struct counters* one = &counters[from][to];
      if (one->roce_frames + one->other_frames == 0) continue;
      printf(
          "%s{\"from\": %d, \"to\": %d, \"roce_frames\": %llu, \"roce_bytes\": %llu, "
          "\"messages\": %llu, \"other_frames\": %llu}",
          separator, from + 1, to + 1, one->roce_frames, one->roce_bytes, one->messages,
          one->other_frames);
      separator = ", ";
    }
  }
  printf("]}\n");
  fflush(stdout);
  memset(counters, 0, sizeof counters);
  dropped = 0;
}

static void obey(const uint8_t* text, size_t bytes) {
  char line[128];
  if (bytes >= sizeof line) bytes = sizeof line - 1;
  for (size_t i = 0; i < bytes; ++i) {
    // Only what may stand inside a JSON string.
    line[i] = (char)(text[i] >= ' ' && text[i] < 127 && !strchr("\"\\", text[i]) ? text[i] : ' ');
  }
  while (bytes > 0 && line[bytes - 1] == ' ') --bytes;
  line[bytes] = '\0';
  long long frames = 0;
  long long duration = 0;
  if (strncmp(line, "mark ", 5) == 0) {
    print_mark(line + 5);
  } else if (sscanf(line, "drop %lld %lld", &frames, &duration) == 2) {
    frames_until_drop = frames;
    drop_ms = duration;
  } else {
    fprintf(stderr, "switch: not understood: %s\n", line);
  }
}

/// The UDP datagram in a frame: its destination port and its payload, or 0.
static unsigned udp_port(const uint8_t* frame, size_t bytes, const uint8_t** payload) {
  size_t at = 0;
  if (bytes < 34) return 0;
  if (frame[12] == 0x08 && frame[13] == 0x00 && frame[23] == 17) {
    at = 14 + (size_t)(frame[14] & 15) * 4;
  } else if (frame[12] == 0x86 && frame[13] == 0xdd && frame[20] == 17) {
    at = 54;
  }
  if (at == 0 || bytes < at + 8) return 0;
  *payload = frame + at + 8;
  return (unsigned)frame[at + 2] << 8 | frame[at + 3];
}

/// Whether a packet of this opcode begins a message of a requester: send, write, read or atomic.
static bool begins_message(uint8_t opcode) {
  switch (opcode) {
    case 0x00:  // send: first, only, only with immediate
    case 0x04:
    case 0x05:
    case 0x06:  // RDMA write: first, only, only with immediate
    case 0x0a:
    case 0x0b:
    case 0x0c:  // RDMA read, compare and swap, fetch and add
    case 0x13:
    case 0x14:
    case 0x64:  // unreliable datagrams
    case 0x65:
      return true;
    default:
      return false;
  }
}

static bool drops_now(bool roce) {
  if (frames_until_drop >= 0 && roce && frames_until_drop-- == 0)
    drop_until_ms = now_ms() + drop_ms;
  return drop_until_ms != 0 && now_ms() < drop_until_ms;
}

/// Takes the frame that was read from a guest: obeys, drops or marks it for its destinations.
static void take(int from) {
  struct guest* guest = &guests[from];
  static const uint8_t prefix[4] = {0x52, 0x54, 0, 0};
  const uint8_t* payload = NULL;
  guest->waiting = 0;
  if (guest->bytes < 14) return;
  const unsigned port = udp_port(guest->frame, guest->bytes, &payload);
  if (port == kCommandPort) {
    // The UDP header's length, as short frames are padded.
    const size_t bytes = (size_t)(payload[-4] << 8 | payload[-3]);
    if (bytes >= 8 && bytes - 8 <= guest->bytes - (size_t)(payload - guest->frame)) {
      obey(payload, bytes - 8);
    }
    return;
  }
  if (drops_now(port == kRocePort)) {
    ++dropped;
    return;
  }
  const int to = guest->frame[5] - 1;
  if ((guest->frame[0] & 1) != 0) {
    guest->waiting = ((1U << count) - 1) & ~(1U << from);
  } else if (memcmp(guest->frame, prefix, sizeof prefix) == 0 && to >= 0 && to < count) {
    guest->waiting = 1U << to;
  }
  guest->since_ms = 0;
}

static void count_frame(const struct guest* guest, struct counters* pair) {
  const uint8_t* payload = NULL;
  if (udp_port(guest->frame, guest->bytes, &payload) != kRocePort) {
    ++pair->other_frames;
    return;
  }
  ++pair->roce_frames;
  pair->roce_bytes += guest->bytes;
  if (begins_message(payload[0])) ++pair->messages;
}

/// Sends the held frame where it has not been yet. A guest that is gone takes nothing.
static void deliver(int from) {
  struct guest* guest = &guests[from];
  for (int to = 0; to < count; ++to) {
    if ((guest->waiting >> to & 1) == 0) continue;
    const ssize_t sent = send(guests[to].socket, guest->frame, guest->bytes, MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)) {
      if (guest->since_ms == 0) guest->since_ms = now_ms();
      if (now_ms() - guest->since_ms < kPatience_ms) continue;
    }
    guest->waiting &= ~(1U << to);
    if (sent < 0) {
      ++dropped;
    } else {
      count_frame(guest, &counters[from][to]);
    }
  }
}

static void serve(int from) {
  struct guest* guest = &guests[from];
  deliver(from);
  for (int i = 0; i < kBatch && guest->waiting == 0; ++i) {
    const ssize_t bytes = recv(guest->socket, guest->frame, sizeof guest->frame, MSG_DONTWAIT);
    if (bytes < 0) return;
    guest->bytes = (size_t)bytes;
    take(from);
    deliver(from);
  }
}

/// Waits a little for a guest that sent something, or that has room for what is held for it.
static void wait_for_work(void) {
  struct pollfd polled[kGuests];
  unsigned wanted = 0;
  for (int i = 0; i < count; ++i) wanted |= guests[i].waiting;
  for (int i = 0; i < count; ++i) {
    polled[i].fd = guests[i].socket;
    polled[i].events =
        (short)((guests[i].waiting == 0 ? POLLIN : 0) | ((wanted >> i & 1) != 0 ? POLLOUT : 0));
  }
  poll(polled, (nfds_t)count, 100);
}

int main(int argc, char** argv) {
  if (argc < 2 || argc - 1 > kGuests) {
    fprintf(stderr, "usage: %s FD... (one a guest, %d at most)\n", argv[0], kGuests);
    return 2;
  }
  struct sigaction action = {.sa_handler = on_term};
  sigaction(SIGTERM, &action, NULL);
  count = argc - 1;
  for (int i = 0; i < count; ++i) guests[i].socket = atoi(argv[i + 1]);
  while (!ending) {
    wait_for_work();
    for (int i = 0; i < count; ++i) serve(i);
  }
  print_mark("end");
  return 0;
}
