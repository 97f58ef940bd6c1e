#pragma once
// A picture as one HTML file that needs nothing else: no network, no other files. Its script only shows the
// facts that the file holds as JSON; without scripts the machine can still be seen.
//
//   writeFile("report.html", pageHtml(picture));

#include <string>

#include "insight/report/picture.h"

namespace xylem {

std::string pageHtml(const Picture& picture);

}  // namespace xylem
