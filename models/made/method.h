#pragma once
#include <memory>

#include "models/method/method.h"

namespace tessera {

std::unique_ptr<RowMethod> make_made(const RowLayout& layout, const MethodConfig& config);

}  // namespace tessera
