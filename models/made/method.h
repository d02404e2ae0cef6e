#pragma once
#include <memory>

#include "models/method/method.h"

namespace tessera {

std::unique_ptr<RowMethod> make_made(const RowLayout& layout, const MethodConfig& config);
std::unique_ptr<SequenceMethod> make_made_steps(const SequenceEncoder& encoder, const MethodConfig& config);

}  // namespace tessera
