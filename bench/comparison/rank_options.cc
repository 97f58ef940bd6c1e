#include "comparison/rank_options.h"

#include <CLI/CLI.hpp>

namespace xylem::bench {

RankArguments::RankArguments(const char* about, RankOptions& options)
    : app_(std::make_unique<CLI::App>(about)) {
  app_->add_option("--socket", options.socket, "where the driver listens")->required();
  app_->add_option("--cores", options.cores, "rank r stays on the r-th of these")->delimiter(',');
  app_->add_option("--each", options.each, "cores of a rank: r has the r-th group of them (1)");
}
RankArguments::~RankArguments() = default;

void RankArguments::add(const char* name, int& target, const char* help) {
  app_->add_option(name, target, help);
}
void RankArguments::add(const char* name, bool& target, const char* help) {
  app_->add_flag(name, target, help);
}
void RankArguments::add(const char* name, std::string& target, const char* help) {
  app_->add_option(name, target, help);
}

std::optional<int> RankArguments::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
}

}  // namespace xylem::bench
