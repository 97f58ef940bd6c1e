#pragma once
// This machine as a topology document, the way NCCL describes it: the PCI tree with its switches, NUMA nodes
// and CPUs, GPUs with their NVLinks, network cards. Without GPUs the machine gets host devices to compute on.
//
//   Document doc = detectTopology({.hostDevices = 8});   // at least eight gpu elements with host="1"
//   const auto source = gpuSourceOf("/");
//   Document doc = detectTopology({.gpus = source.get()});   // NVIDIA's GPUs, if there are any
//   Document doc = detectTopology({.root = "captured"});     // a copy of another machine's /sys and /proc
//
// With GPUs the document is the one that the ranks of a job on all of them detect and fuse (fuse.h): rank i
// on GPU i, and RDMA devices as network cards if there are any, else interfaces.
//
// A *host device* is a gpu element of ours: CPU cores that compute, with the memory of their NUMA node. It is
// marked host="1", hangs below a made-up PCI bus id on its NUMA node, and is tied to that node's memory by a
// c2c link, so that the same engine plans for it. P2P between host devices of one host is always possible
// (planner/paths/reach.h).
//
// Detection only reads, needs no privileges, and takes everything that it cannot read as absent: a container
// without a PCI bus still gives its CPUs, its interfaces and its host devices.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/rules/changes.h"
#include "planner/topology/detect_gpus.h"
#include "planner/topology/detect_net.h"
#include "planner/topology/detect_rdma.h"
#include "planner/topology/document.h"
#include "planner/topology/merge_nics.h"

namespace xylem::topology {

// The largest value of XYLEM_HOST_DEVICES.
constexpr int kMaxHostDevices = 4096;

struct DetectOptions {
  // The least number of host devices; there is at least one per core. XYLEM_HOST_DEVICES or the number of
  // local ranks decides.
  int hostDevices = 0;
  // NCCL_HOSTID: identifies this host instead of its name and boot id.
  std::string hostId;
  // NCCL_SOCKET_IFNAME: the interfaces to describe instead of the default choice.
  std::string interfaces;
  // Network devices of a plugin, to describe instead of the machine's own.
  std::optional<std::vector<NetDevice>> networks;
  // The folder that holds /sys and /proc; another one than / replays a captured machine.
  std::filesystem::path root = "/";
  // The source of GPUs to describe. If it is null or finds no GPU, host devices take their place.
  const GpuSource* gpus = nullptr;
  // NCCL_TOPO_FILE: a description to complete. Empty: the file that a virtual machine's tools left, if any.
  std::string topologyFile;
  RdmaOptions rdma;
  // By which the ranks of a job on GPUs trim their descriptions.
  std::shared_ptr<const rules::RuleSet> rules = rules::newestRules();
  // Merges network devices as a job does. Absent: the physical devices, which NCCL writes to a file.
  std::optional<MergeOptions> merge;
};

// Throws Error if the machine cannot be read at all, InputError for a malformed topology file. Appends to
// `remarks` why something is missing or lies farther away than it should, and what NCCL itself would fail on.
Document detectTopology(const DetectOptions& options = {}, std::vector<std::string>* remarks = nullptr);

}  // namespace xylem::topology
