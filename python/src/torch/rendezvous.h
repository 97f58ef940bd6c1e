#pragma once
// Lets the ranks of a process group find each other through torch's store.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "torch/membership.h"

namespace xylem::torch {

// Makes this process the `device`th of `devices` on its host, if it has no device yet. Otherwise the first
// group it joins decides, by the ranks on the same host.
void setProcessDevice(int device, int devices);

class Rendezvous {
 public:
  Rendezvous(c10::intrusive_ptr<c10d::Store> store, int rank, int ranks, std::chrono::milliseconds timeout);

  // Returns the communicator of all ranks as soon as all have come. Gives the process its host device, if it
  // has none.
  std::shared_ptr<Membership> joinAll();
  // Returns the communicator for sends from one rank to another, as soon as both want it.
  std::unique_ptr<Membership> joinPair(int from, int to, const std::function<void()>& throwIfOver);

 private:
  void chooseDevice();
  void awaitAll();
  // The ranks that have not come, in words.
  std::string missingRanks();
  void set(const std::string& key, const void* data, std::size_t bytes);
  ncclUniqueId idAt(const std::string& key);
  // The process of a rank; 0 if it is one of another host, or cannot be seen from here.
  pid_t processOf(int rank);

  const c10::intrusive_ptr<c10d::Store> store_;
  const int rank_, ranks_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace xylem::torch
