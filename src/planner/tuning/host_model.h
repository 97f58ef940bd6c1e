#pragma once
// The tuning model of host devices, the cores of plain machines: the costs of a launch and of a step from
// rank to rank, and the bandwidth of a rank. NCCL has no such model. `xylem tune --calibrate` measures the
// constants (docs/calibration.md), XYLEM_HOST_MODEL sets them.
//
//   HostModel model = HostModel::parse("launch=0.3,ll.hop=0.15,ll.bw=2.5", "XYLEM_HOST_MODEL");
//   hostLatency(input, model, Collective::kAllReduce, Algorithm::kRing, Protocol::kLl)   ->   microseconds

#include <array>
#include <string>
#include <string_view>

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"

namespace xylem::tuning {

struct HostModel {
  float launch = 0;               // microseconds per operation
  ByProtocol<float> hop{};        // microseconds per step between ranks of a host
  ByProtocol<float> bandwidth{};  // GB/s that a rank sends while it receives as much, through memory
  float netHop = 0;               // microseconds per step between hosts
  float netBandwidth = 0;         // GB/s between two ranks on different hosts

  // The constants of one machine; host_model.cc says which.
  HostModel();
  // Changes the defaults by a list of NAME=NUMBER: launch, ll.hop, ll128.hop, simple.hop, ll.bw, ll128.bw,
  // simple.bw, net.hop, net.bw. Throws InputError, which names `origin` as the place of the text.
  static HostModel parse(std::string_view text, const std::string& origin);
  // Returns all constants as a list that parse() reads.
  std::string text() const;
};

// One of the constants, under its name in XYLEM_HOST_MODEL.
struct HostConstant {
  std::string_view name;
  const char* unit;
  float* value;
};
std::array<HostConstant, 9> constantsOf(HostModel& model);

// Latency in microseconds, bandwidth in GB/s of the operation. For Ring, Tree and PAT.
float hostLatency(const TuningInput& input, const HostModel& model, Collective collective,
                  Algorithm algorithm, Protocol protocol);
float hostBandwidth(const TuningInput& input, const HostModel& model, Collective collective,
                    Algorithm algorithm, Protocol protocol);

}  // namespace xylem::tuning
