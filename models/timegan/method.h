// TimeGAN as a method.
#pragma once
#include <memory>

#include "models/method/method.h"

namespace tessera {

std::unique_ptr<SequenceMethod> make_timegan(const SequenceEncoder& encoder, const MethodConfig& config);

}  // namespace tessera
