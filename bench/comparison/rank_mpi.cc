// A rank of an MPI contender: the same source for every MPI, started by its mpirun. Only bench_compare runs
// it.

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "comparison/rank_loop.h"
#include "comparison/rank_options.h"

namespace xylem::bench {
namespace {

class MpiEngine : public Engine {
 public:
  MpiEngine() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  std::string version() override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<std::size_t>(length));
    return all.substr(0, all.find_first_of(",\n"));  // build dates and options follow
  }
  void join(const std::array<char, kIdBytes>&) override {}
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  // All of these calls block, so nothing can be pipelined.
  void repeat(const Case& c, const float* in, float* out, std::uint32_t times, bool) override {
    for (std::uint32_t i = 0; i < times; ++i) once(c, in, out);
  }

 private:
  void once(const Case& c, const float* in, float* out) const {
    const int count = static_cast<int>(c.count());
    const MPI_Comm all = MPI_COMM_WORLD;
    const void* const own = ownPlace(c, rank_) ? MPI_IN_PLACE : in;
    switch (c.operation) {
      case Operation::kAllReduce:
        MPI_Allreduce(own, out, count, MPI_FLOAT, MPI_SUM, all);
        return;
      case Operation::kAllGather:
        MPI_Allgather(own, count, MPI_FLOAT, out, count, MPI_FLOAT, all);
        return;
      case Operation::kReduceScatter:
        MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, all);
        return;
      case Operation::kBroadcast:
        MPI_Bcast(rank_ == kRoot ? const_cast<float*>(in) : out, count, MPI_FLOAT, kRoot, all);
        return;
      case Operation::kReduce:
        MPI_Reduce(own, out, count, MPI_FLOAT, MPI_SUM, kRoot, all);
        return;
      case Operation::kAllToAll:
        MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, all);
        return;
      case Operation::kSendReceive:
        MPI_Sendrecv(in, count, MPI_FLOAT, (rank_ + 1) % ranks_, 0, out, count, MPI_FLOAT,
                     (rank_ + ranks_ - 1) % ranks_, 0, all, MPI_STATUS_IGNORE);
        return;
      case Operation::kSend:
        if (const int partner = partnerOf(c, rank_); partner < 0)
          return;
        else if (rank_ % 2 == 0)
          MPI_Send(in, count, MPI_FLOAT, partner, 0, all);
        else
          MPI_Recv(out, count, MPI_FLOAT, partner, 0, all, MPI_STATUS_IGNORE);
        return;
    }
  }

  int rank_ = 0;
  int ranks_ = 0;
};

// Before MPI_Init, so that threads of the library stay on the core, too.
int rankFromLauncher() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

int run(int argc, char** argv) {
  RankOptions options;
  RankArguments arguments("a rank of bench_compare", options);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  pinTo(options.coresOf(rankFromLauncher()));
  MPI_Init(&argc, &argv);
  {
    MpiEngine engine;
    serve(engine, ControlSocket::connect(options.socket));
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace xylem::bench

int main(int argc, char** argv) {
  xylem::bench::endWithParent();
  try {
    return xylem::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "a rank of MPI: %s\n", error.what());
    return 1;
  }
}
