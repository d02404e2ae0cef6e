// The list of methods. To add one, write its folder and a line in registry.cpp.
#pragma once
#include <string>
#include <vector>

#include "models/method/config.h"

namespace tessera {

const std::vector<const MethodSpec*>& methods();          // the default first
const MethodSpec& method_named(const std::string& name);  // Error(usage) for an unknown one

}  // namespace tessera
