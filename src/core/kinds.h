#pragma once
// Functions, algorithms and protocols, with NCCL's names, and arrays indexed by them. A function is what one
// call of nccl.h does: a collective, a send or a receive. All of Xylem names it by this one enumeration.
//
//   if (reduces(Function::kAllReduce)) print(name(Function::kAllReduce));    // `AllReduce`
//   ByCollective<ByAlgorithm<ByProtocol<float>>> latency{};
//   latency[Collective::kAllReduce][Algorithm::kRing][Protocol::kLl] = 16.0f;

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace xylem {

// Ranks tell each other these numbers, and records of calls have them. The first five are NCCL's own.
enum class Function : std::uint8_t {
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kSend,
  kRecv,
  kAlltoAll
};
constexpr std::size_t kFunctions = 8;

// A function where only a collective that the planner knows has a meaning: one of kAllCollectives. An
// all-to-all is sends and receives to the planner.
using Collective = Function;
constexpr std::array<Collective, 5> kAllCollectives = {Collective::kBroadcast, Collective::kReduce,
                                                       Collective::kAllGather, Collective::kReduceScatter,
                                                       Collective::kAllReduce};

enum class Algorithm : std::uint8_t { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree, kPat };
constexpr std::array<Algorithm, 7> kAllAlgorithms = {
    Algorithm::kTree,         Algorithm::kRing, Algorithm::kCollnetDirect,
    Algorithm::kCollnetChain, Algorithm::kNvls, Algorithm::kNvlsTree,
    Algorithm::kPat};

enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
constexpr std::array<Protocol, 3> kAllProtocols = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

// `AllReduce`, `CollNetDirect`, `LL128`: as NCCL's variables and messages spell them.
const char* name(Function function);
const char* name(Algorithm algorithm);
const char* name(Protocol protocol);

constexpr bool isPointToPoint(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}
// True for kAllCollectives.
constexpr bool isPlanned(Function function) { return function <= Function::kAllReduce; }
// True if the function combines elements.
constexpr bool reduces(Function function) {
  return function == Function::kReduce || function == Function::kReduceScatter ||
         function == Function::kAllReduce;
}
// True if the data of a collective goes to the root or comes from it.
constexpr bool isRooted(Function function) {
  return function == Function::kBroadcast || function == Function::kReduce;
}
// True if the send buffer, or the receive buffer, of a collective has a block for every rank.
constexpr bool sendsBlocks(Function function) {
  return function == Function::kReduceScatter || function == Function::kAlltoAll;
}
constexpr bool receivesBlocks(Function function) {
  return function == Function::kAllGather || function == Function::kAlltoAll;
}
// True for the collectives that the planner knows where one buffer holds the data of all ranks.
constexpr bool gathersOrScatters(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
}
constexpr bool isNvls(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
}
constexpr bool isCollnet(Algorithm algorithm) {
  return algorithm == Algorithm::kCollnetDirect || algorithm == Algorithm::kCollnetChain;
}

// `RING`, `SIMPLE`: as NCCL's message about an operation spells them.
const char* upperName(Algorithm algorithm);
const char* upperName(Protocol protocol);

// An array indexed by an enumeration.
template <typename Key, typename T, std::size_t N>
class KeyedArray : public std::array<T, N> {
 public:
  using std::array<T, N>::operator[];
  constexpr T& operator[](Key key) { return (*this)[static_cast<std::size_t>(key)]; }
  constexpr const T& operator[](Key key) const { return (*this)[static_cast<std::size_t>(key)]; }
};
template <typename T>
using ByCollective = KeyedArray<Collective, T, kAllCollectives.size()>;
template <typename T>
using ByAlgorithm = KeyedArray<Algorithm, T, kAllAlgorithms.size()>;
template <typename T>
using ByProtocol = KeyedArray<Protocol, T, kAllProtocols.size()>;

}  // namespace xylem
