#include "cli/insight/preflight_words.h"

namespace xylem::cli {

std::string valueName(Unexchanged what) {
  switch (what) {
    case Unexchanged::kTreePattern:
      return "pattern of the trees";
    case Unexchanged::kNetLatency:
      return "latency of the NICs";
    case Unexchanged::kNvSwitch:
      return "has an NVSwitch";
    case Unexchanged::kChannels:
      return "channels";
    case Unexchanged::kNvlsChannels:
      return "channels of NVLS";
    case Unexchanged::kCollnetHeads:
      return "heads of CollNet";
    case Unexchanged::kTransferChannels:
      return "channels of send/receive";
    case Unexchanged::kChannelsPerPeer:
      return "channels per peer";
  }
  return "";
}

std::string explain(Unexchanged what) {
  switch (what) {
    case Unexchanged::kTreePattern:
      return "A host whose tree meets the network with one GPU (TREE) expects 15 % less of Tree than one "
             "whose "
             "tree meets it with two (BALANCED_TREE, SPLIT_TREE).";
    case Unexchanged::kNetLatency:
      return "Each rank adds the latency that its own NICs report to every step between hosts.";
    case Unexchanged::kNvSwitch:
      return "Ranks without an NVSwitch rule CollNetDirect out, the others do not.";
    case Unexchanged::kChannels:
      return "A rank has at least as many channels as its GPU uses for NVLS.";
    case Unexchanged::kNvlsChannels:
      return "GPUs use 16 channels for NVLS, from compute capability 100 on 32.";
    case Unexchanged::kCollnetHeads:
      return "Heads are the GPUs next to a NIC of their own; every rank counts those of its host.";
    case Unexchanged::kTransferChannels:
      return "Send and receive use as many channels as the communicator has on this rank.";
    case Unexchanged::kChannelsPerPeer:
      return "Each rank counts by the NVLinks and NICs of its host how many channels two ranks share; sender "
             "and receiver then cut a transfer differently.";
  }
  return "";
}

std::string explain(Setup setup) {
  switch (setup) {
    case Setup::kChannels:
      return "ranks have different numbers of channels: some wait for neighbours that never connect";
    case Setup::kNvlsChannels:
      return "ranks have different numbers of channels for NVLS: its trees between hosts are never complete";
    case Setup::kCollnetHeads:
      return "ranks count different numbers of CollNet heads: they do not set up the same CollNet";
  }
  return "";
}

std::string remarkName(Remarked what) {
  switch (what) {
    case Remarked::kGpus:
      return "compute capability";
    case Remarked::kCpus:
      return "CPUs";
    case Remarked::kRings:
      return "rings";
    case Remarked::kTrees:
      return "trees";
    case Remarked::kNvls:
      return "NVLS";
    case Remarked::kCollnet:
      return "CollNet";
    case Remarked::kRanksPerNode:
      return "ranks per node";
    case Remarked::kSeparateDomains:
      return "domains";
  }
  return "";
}

std::string remarkMeaning(const Remark& remark) {
  switch (remark.what) {
    case Remarked::kGpus:
      return remark.job.empty() ? "" : "GPUs of different architectures together do without LL128.";
    case Remarked::kCpus:
      return remark.job.empty() ? ""
                                : "CPUs of different makers: all ranks use the limits of LL that AMD's have.";
    case Remarked::kNvls:
      return "NVLS uses as many heads as the host with the fewest; with none on some host there is no NVLS.";
    case Remarked::kCollnet:
      return "CollNet needs a network that reduces at every host.";
    case Remarked::kRanksPerNode:
      return "Nodes of different sizes: send and receive go over all ranks in turn, not node by node, so "
             "that "
             "all-to-all is slower.";
    case Remarked::kSeparateDomains:
      return "GPUs of one host that reach each other only over the network are nodes of their own.";
    default:
      return "";
  }
}

}  // namespace xylem::cli
