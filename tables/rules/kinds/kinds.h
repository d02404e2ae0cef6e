// All kinds of rules.
#pragma once
#include <string>
#include <vector>

namespace tessera {

std::vector<std::string> rule_kinds();  // kinds that read_rule() accepts

}  // namespace tessera
