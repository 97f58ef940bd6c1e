#include "planner/plan/json_value.h"

namespace xylem::plan {

std::string jsonText(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace xylem::plan
