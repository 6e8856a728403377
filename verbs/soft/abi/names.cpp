#include "verbs/soft/abi/names.hpp"

#include <array>
#include <cstddef>

namespace weft::soft {

namespace {

template <std::size_t N>
const char* look_up(const std::array<const char*, N>& names, std::size_t index) noexcept {
  return index < N ? names[index] : "unknown";
}

struct Rate {
  ibv_rate rate;
  int multiple;  // of 2.5 Gbit/s, 0: none
  int mbps;
};

constexpr std::array kRates = {
    Rate{IBV_RATE_2_5_GBPS, 1, 2500},      Rate{IBV_RATE_5_GBPS, 2, 5000},
    Rate{IBV_RATE_10_GBPS, 4, 10000},      Rate{IBV_RATE_20_GBPS, 8, 20000},
    Rate{IBV_RATE_30_GBPS, 12, 30000},     Rate{IBV_RATE_40_GBPS, 16, 40000},
    Rate{IBV_RATE_60_GBPS, 24, 60000},     Rate{IBV_RATE_80_GBPS, 32, 80000},
    Rate{IBV_RATE_120_GBPS, 48, 120000},   Rate{IBV_RATE_14_GBPS, 0, 14062},
    Rate{IBV_RATE_28_GBPS, 0, 28125},      Rate{IBV_RATE_50_GBPS, 20, 53125},
    Rate{IBV_RATE_56_GBPS, 0, 56250},      Rate{IBV_RATE_112_GBPS, 0, 112500},
    Rate{IBV_RATE_168_GBPS, 0, 168750},    Rate{IBV_RATE_25_GBPS, 0, 25781},
    Rate{IBV_RATE_100_GBPS, 0, 103125},    Rate{IBV_RATE_200_GBPS, 0, 206250},
    Rate{IBV_RATE_300_GBPS, 0, 309375},    Rate{IBV_RATE_400_GBPS, 160, 425000},
    Rate{IBV_RATE_600_GBPS, 240, 637500},  Rate{IBV_RATE_800_GBPS, 320, 850000},
    Rate{IBV_RATE_1200_GBPS, 480, 1275000}};

}  // namespace

const char* name_of(ibv_wc_status status) noexcept {
  static constexpr std::array<const char*, 24> kNames = {"success",
                                                         "local length error",
                                                         "local QP operation error",
                                                         "local EE context operation error",
                                                         "local protection error",
                                                         "Work Request Flushed Error",
                                                         "memory management operation error",
                                                         "bad response error",
                                                         "local access error",
                                                         "remote invalid request error",
                                                         "remote access error",
                                                         "remote operation error",
                                                         "transport retry counter exceeded",
                                                         "RNR retry counter exceeded",
                                                         "local RDD violation error",
                                                         "remote invalid RD request",
                                                         "aborted error",
                                                         "invalid EE context number",
                                                         "invalid EE context state",
                                                         "fatal error",
                                                         "response timeout error",
                                                         "general error",
                                                         "TM error",
                                                         "TM software rendezvous"};
  return look_up(kNames, status);
}

const char* name_of(ibv_event_type type) noexcept {
  static constexpr std::array<const char*, 20> kNames = {"CQ error",
                                                         "local work queue catastrophic error",
                                                         "invalid request local work queue error",
                                                         "local access violation work queue error",
                                                         "communication established",
                                                         "send queue drained",
                                                         "path migrated",
                                                         "path migration request error",
                                                         "local catastrophic error",
                                                         "port active",
                                                         "port error",
                                                         "LID change",
                                                         "P_Key change",
                                                         "SM change",
                                                         "SRQ catastrophic error",
                                                         "SRQ limit reached",
                                                         "last WQE reached",
                                                         "client reregistration",
                                                         "GID table change",
                                                         "WQ fatal"};
  return look_up(kNames, type);
}

const char* name_of(ibv_node_type type) noexcept {
  static constexpr std::array<const char*, 8> kNames = {
      "unknown",           "InfiniBand channel adapter",
      "InfiniBand switch", "InfiniBand router",
      "iWARP NIC",         "usNIC",
      "usNIC UDP",         "unspecified"};
  return look_up(kNames, static_cast<std::size_t>(type));
}

const char* name_of(ibv_port_state state) noexcept {
  static constexpr std::array<const char*, 6> kNames = {
      "no state change (NOP)", "down", "init", "armed", "active", "active defer"};
  return look_up(kNames, state);
}

int multiple_of_rate(ibv_rate rate) noexcept {
  for (const Rate& known : kRates) {
    if (known.rate == rate && known.multiple != 0) return known.multiple;
  }
  return -1;
}

ibv_rate rate_of_multiple(int multiple) noexcept {
  for (const Rate& known : kRates) {
    if (known.multiple == multiple && multiple != 0) return known.rate;
  }
  return IBV_RATE_MAX;
}

int mbps_of_rate(ibv_rate rate) noexcept {
  for (const Rate& known : kRates) {
    if (known.rate == rate) return known.mbps;
  }
  return -1;
}

ibv_rate rate_of_mbps(int mbps) noexcept {
  for (const Rate& known : kRates) {
    if (known.mbps == mbps) return known.rate;
  }
  return IBV_RATE_MAX;
}

}  // namespace weft::soft
