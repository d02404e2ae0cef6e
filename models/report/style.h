// The page's style sheet and script, page.css and page.js: texts that do not depend on the report.
#pragma once
#include <string_view>

namespace tessera::report {

extern const std::string_view kStyle, kScript;

}  // namespace tessera::report
