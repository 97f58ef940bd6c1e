#pragma once
// The command line of a rank program, which only the driver writes: --socket PATH [--cores N,N ... --each N] and options of its own. Only
// rank_options.cc includes the parser (CLI11), whose headers take seconds to compile.
//
//   RankArguments arguments("a rank of bench_compare", options);
//   arguments.add("--rank", options.rank, "0 or 1");
//   if (const auto status = arguments.parse(argc, argv)) return *status;

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace xylem::bench {

struct RankOptions {
  std::string socket;
  std::vector<int> cores;  // of the ranks, in turn; none: the system chooses
  int each = 1;            // cores of a rank

  // Empty: the system chooses.
  std::vector<int> coresOf(int rank) const {
    std::vector<int> own;
    for (int i = 0; i < each && !cores.empty(); ++i)
      own.push_back(cores[static_cast<std::size_t>(rank * each + i) % cores.size()]);
    return own;
  }
};

class RankArguments {
 public:
  RankArguments(const char* about, RankOptions& options);
  ~RankArguments();
  RankArguments(const RankArguments&) = delete;
  RankArguments& operator=(const RankArguments&) = delete;

  // An option that is not given keeps its value. A bool is a flag.
  void add(const char* name, int& target, const char* help);
  void add(const char* name, bool& target, const char* help);
  void add(const char* name, std::string& target, const char* help);
  // Returns an exit status if the program ends here: for --help, or with an error that it has printed.
  std::optional<int> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace xylem::bench
