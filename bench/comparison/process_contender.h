#pragma once
// A contender whose ranks are processes, or threads of one process, that follow the driver's commands
// (rank_loop.h).
//
//   ProcessContender mpich("mpich", Role::kPeer, 2, folder, [](const std::string& socket) {
//     return std::vector<CommandLine>{{{"mpirun.mpich", "-n", "2", "bench_rank_mpich", "--socket", socket},
//     {}}};
//   });

#include <functional>

#include "comparison/child_process.h"
#include "comparison/contender.h"
#include "comparison/control.h"

namespace xylem::bench {

class ProcessContender : public Contender {
 public:
  // Returns the commands that start its ranks, which connect to `socket`.
  using Launch = std::function<std::vector<CommandLine>(const std::string& socket)>;
  struct Options {
    int ranks = 0;
    bool hasResults = true;
    bool pipelined = false;
    bool rewrites = false;
    bool ownCores = false;  // repeats a measurement that another program disturbed
    bool together = false;  // ranks leave a barrier within a microsecond: then they begin at the same instant
    std::string folder;     // for its socket and its output
  };

  // Returns when all ranks have joined.
  ProcessContender(std::string name, Role role, const Options& options, const Launch& launch);
  ~ProcessContender() override;

  bool supports(const Case& c) const override { return c.ranks == options_.ranks; }
  void prepare(std::uint64_t bytes) override;
  double measure(const Case& c, unsigned iterations, unsigned warmUps) override;
  std::optional<double> measureApart(const Case& c, unsigned iterations) override;
  std::optional<std::uint64_t> check(const Case& c) override;
  int buffers() const override { return 2 * options_.ranks; }
  std::string version() const override { return version_; }

 private:
  void acceptRanks();
  void endRanks() noexcept;
  Command commandFor(Command::Kind kind, const Case& c) const;
  std::vector<Reply> tellAll(const Command& command);
  Reply hear(const ControlSocket& rank, const Deadline& deadline);

  const Options options_;
  const std::string log_;
  std::string version_;
  ControlListener listener_;
  std::vector<ChildProcess> children_;
  std::vector<ControlSocket> ranks_;
};

}  // namespace xylem::bench
