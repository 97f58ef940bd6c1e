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

std::string listItems(const std::vector<std::string>& texts) {
  std::string items;
  for (const std::string& text : texts) items += "<li>" + markupText(text) + "</li>";
  return items;
}

// The lists of warnings and of assumptions. Empty if there are none.
std::string notices(const Origin& origin) {
  std::string text;
  if (!origin.warnings.empty())
    text +=
        "<ul class=\"notices warnings\" aria-label=\"Warnings\">" + listItems(origin.warnings) + "</ul>\n";
  if (!origin.assumptions.empty())
    text += "<ul class=\"notices\" aria-label=\"Assumed\">" + listItems(origin.assumptions) + "</ul>\n";
  return text;
}

std::string originRow(const std::string& what, const std::string& text) {
  return text.empty() ? ""
                      : "<div><dt>" + what + "</dt><dd><code>" + markupText(text) + "</code></dd></div>\n";
}

std::string originText(const Origin& origin) {
  std::string text = originRow("Command", origin.command) + originRow("Version", origin.version) +
                     originRow("Date", origin.date);
  for (const Origin::File& file : origin.files)
    text += originRow("File", file.name + ", SHA-256 " + file.hash);
  return text;
}

// Returns the text that replaces `{{NAME}}` in the page.
std::string valueOf(std::string_view name, const Picture& picture) {
  if (name == "TITLE") return markupText(picture.title);
  if (name == "SUMMARY") return markupText(picture.summary);
  if (name == "NOTICES") return notices(picture.origin);
  if (name == "ORIGIN") return originText(picture.origin);
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
