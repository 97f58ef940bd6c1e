#pragma once
// The fixture of the tests that run over every transport, with ranks in one process and in several.
//
//   TEST_P(Conformance, CarriesSimple) {
//     run(2, [](TestRank& rank) { ... });
//   }

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>

#include "ranks.h"

namespace xylem::transport {

using Case = std::tuple<Maker, Hosting>;
inline std::string caseName(const ::testing::TestParamInfo<Case>& info) {
  return std::get<0>(info.param).name +
         (std::get<1>(info.param) == Hosting::kThreads ? "Threads" : "Processes");
}

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string why = maker().prepare(); !why.empty()) GTEST_SKIP() << why;
  }
  static const Maker& maker() { return std::get<0>(GetParam()); }
  static Hosting hosting() { return std::get<1>(GetParam()); }
  static void run(int ranks, const RankBody& body, const RankOptions& options = {}) {
    runRanks(maker(), hosting(), ranks, body, options);
  }
};

inline void put(SendEnd& end, std::uint64_t value, Protocol protocol = Protocol::kSimple) {
  await([&] { return end.send(protocol, reinterpret_cast<const std::byte*>(&value), sizeof value); },
        "a free slot");
}
inline std::uint64_t take(RecvEnd& end, Protocol protocol = Protocol::kSimple) {
  std::uint64_t value = 0;
  await([&] { return end.take(protocol, reinterpret_cast<std::byte*>(&value), sizeof value); }, "a step");
  return value;
}

inline std::string messageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace xylem::transport
