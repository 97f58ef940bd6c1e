#include "insight/report/page.h"

#include "insight/report/assets.h"
#include "insight/report/machine_drawing.h"
#include "insight/report/picture_json.h"
#include "insight/report/text.h"
#include "planner/plan/json_value.h"

namespace xylem::report {
namespace {

std::string machines(const Picture& picture) {
  std::string text;
  for (std::size_t i = 0; i < picture.hosts.size(); ++i) {
    const HostPicture& host = picture.hosts[i];
    text += "<div class=\"machine\" data-host=\"" + std::to_string(i) + "\">\n";
    text += machineSvg(host, layOut(host), {});
    text += "</div>\n";
  }
  return text;
}

// Returns the text that replaces `{{NAME}}` in the page.
std::string valueOf(std::string_view name, const Picture& picture) {
  if (name == "TITLE") return markupText(picture.title);
  if (name == "SUMMARY") return markupText(picture.summary);
  if (name == "STYLE")
    return std::string(asset(Asset::kPageStyle)) + std::string(asset(Asset::kMachineStyle));
  if (name == "MACHINES") return machines(picture);
  if (name == "FACTS") return scriptText(plan::jsonText(toJson(picture), -1) + '\n');
  return std::string(asset(Asset::kPageScript));
}

}  // namespace

std::string pageHtml(const Picture& picture) {
  // A single pass over the page, so placeholders inside of inserted text are never replaced.
  std::string_view rest = asset(Asset::kPage);
  std::string text;
  for (std::size_t open = rest.find("{{"); open != std::string_view::npos; open = rest.find("{{")) {
    const std::size_t close = rest.find("}}", open);
    text += rest.substr(0, open);
    text += valueOf(rest.substr(open + 2, close - open - 2), picture);
    rest.remove_prefix(close + 2);
  }
  text += rest;
  return text;
}

}  // namespace xylem::report
