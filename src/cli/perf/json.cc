// What `xylem perf --json` prints.
#include <nlohmann/json.hpp>

#include "cli/perf/report.h"

namespace xylem::cli {
namespace {

using Json = nlohmann::ordered_json;

Json jsonOf(const PerfSpeed& speed) {
  return {{"time_us", speed.microseconds},
          {"algbw_gbs", speed.bandwidth.algorithm},
          {"busbw_gbs", speed.bandwidth.bus},
          {"wrong", speed.wrong ? Json(*speed.wrong) : Json(nullptr)}};
}

Json jsonOf(const PerfRow& row) {
  Json json = {{"size", row.c.bytes()}, {"count", row.c.layout.count}, {"type", name(row.c.type)}};
  if (row.c.op != PerfOperator::kNone) json["redop"] = name(row.c.op);
  if (row.c.root >= 0) json["root"] = row.c.root;
  json["out_of_place"] = jsonOf(row.outOfPlace);
  json["in_place"] = row.inPlace ? jsonOf(*row.inPlace) : Json(nullptr);
  return json;
}

}  // namespace

std::string perfJson(const PerfOptions& options, const std::vector<PerfMessage>& hellos,
                     const std::vector<PerfRow>& rows, std::uint64_t wrong, double averageBus) {
  Json ranks = Json::array();
  for (const PerfMessage& hello : hellos)
    ranks.push_back(
        {{"rank", hello.rank}, {"pid", hello.pid}, {"host", hello.text}, {"device", hello.device}});
  Json results = Json::array();
  for (const PerfRow& row : rows) results.push_back(jsonOf(row));
  const Json all = {{"format", "xylem-perf-1"},
                    {"collective", name(options.collective)},
                    {"processes", options.processes},
                    {"threads", options.threads},
                    {"gpus", options.gpus},
                    {"warmup", options.warmup},
                    {"iterations", options.iterations},
                    {"aggregated", options.aggregated},
                    {"memory", name(options.memory)},
                    {"registered", options.registers},
                    {"ranks", ranks},
                    {"results", results},
                    {"wrong", wrong},
                    {"avg_busbw_gbs", averageBus}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xylem::cli
