#pragma once
// A picture as one HTML file that needs no network and no other files. The file contains all facts as JSON,
// and its script only shows them. Without scripts the machine is still visible.
//
//   writeFile("report.html", pageHtml(picture));

#include <string>

#include "insight/report/picture.h"

namespace xylem::report {

std::string pageHtml(const Picture& picture);

}  // namespace xylem::report
