// All kinds of rules.
#pragma once
#include <string>
#include <vector>

namespace tessera {

std::vector<std::string> rule_kinds();  // those that read_rule() knows

}  // namespace tessera
