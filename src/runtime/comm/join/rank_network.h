#pragma once
// The network of a rank, and the thread that moves its queues, through which other ranks of its host may send, too. It ends with its
// communicator, or later, if other ranks still need it: they may send on after this rank has destroyed its communicator.
//
//   auto network = std::make_unique<RankNetwork>(std::move(opened), stepBytes, nullptr, log);
//   NetTransport net(sessions, {..., .proxies = &network->ranks}, *network->network, network->proxy);
//   endWhenUnused(std::move(network));

#include <memory>

#include "core/log.h"
#include "runtime/transport/net/network.h"
#include "runtime/transport/net/proxy.h"
#include "runtime/transport/net/pxn/proxy_ranks.h"

namespace xylem::comm {

// Members are destroyed in reverse order: what uses the network before it, the proxy thread after both.
struct RankNetwork {
  // `device`: of the rank's GPU, or null; lives until endWhenUnused().
  RankNetwork(std::unique_ptr<transport::Network> opened, const transport::StepBytes& stepBytes,
              transport::DeviceMemory* device, std::shared_ptr<const Logger> logger)
      : log(std::move(logger)),
        network(std::move(opened)),
        ranks({stepBytes, network.get(), &proxy, device}) {}

  std::shared_ptr<const Logger> log;  // the network's
  transport::Proxy proxy;
  std::unique_ptr<transport::Network> network;
  transport::ProxyRanks ranks;
};

// Destroys it now, or, if other ranks of the host still send through it, in the background when these have left. The exit of the process
// waits for them, as long as something of theirs moves every ten seconds, or every minute if there are steps that were not sent.
void endWhenUnused(std::unique_ptr<RankNetwork> network) noexcept;

}  // namespace xylem::comm
