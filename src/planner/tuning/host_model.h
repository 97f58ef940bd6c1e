#pragma once
// What the tuning model knows of host devices, the cores of plain machines: a launch costs something, so does
// every step from rank to rank, and a rank moves so many bytes per time. NCCL has no such model; the
// constants are measured by `xylem tune --calibrate` (docs/calibration.md) and set by XYLEM_HOST_MODEL.
//
//   HostModel model = HostModel::parse("launch=0.3,ll.hop=0.15,ll.bw=2.5", "XYLEM_HOST_MODEL");
//   hostLatency(input, model, Collective::kAllReduce, Algorithm::kRing, Protocol::kLl)   ->   microseconds

#include <array>
#include <string>
#include <string_view>

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"

namespace xylem {

struct HostModel {
  float launch = 0;               // microseconds per operation
  ByProtocol<float> hop{};        // microseconds per step between ranks of a host
  ByProtocol<float> bandwidth{};  // GB/s that a rank sends and receives at the same time, through memory
  float netHop = 0;               // microseconds per step between hosts
  float netBandwidth = 0;         // GB/s between two ranks on different hosts

  // As measured on one machine; host_model.cc says which.
  HostModel();
  // The defaults, changed by a list of NAME=NUMBER: launch, ll.hop, ll128.hop, simple.hop, ll.bw, ll128.bw,
  // simple.bw, net.hop, net.bw. Throws InputError; `origin` says where the text comes from.
  static HostModel parse(std::string_view text, const std::string& origin);
  // What parse understands.
  std::string text() const;
};

// One of the numbers, under its name in XYLEM_HOST_MODEL.
struct HostConstant {
  std::string_view name;
  const char* unit;
  float* value;
};
std::array<HostConstant, 9> constantsOf(HostModel& model);

// In microseconds, and GB/s of the operation. For algorithms of rings, trees and PAT.
float hostLatency(const TuningInput& input, const HostModel& model, Collective collective,
                  Algorithm algorithm, Protocol protocol);
float hostBandwidth(const TuningInput& input, const HostModel& model, Collective collective,
                    Algorithm algorithm, Protocol protocol);

}  // namespace xylem
