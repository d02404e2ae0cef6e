#include "models/model/registry.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/option_text.h"
#include "models/ctgan/options.h"
#include "models/made/options.h"
#include "models/timegan/options.h"
#include "models/tvae/options.h"

namespace tessera {

const std::vector<const MethodSpec*>& methods() {
  static const std::vector<const MethodSpec*> all{&kMade, &kTvae, &kCtgan, &kTimegan};
  return all;
}

const MethodSpec& method_named(const std::string& name) {
  std::string names;
  for (const MethodSpec* m : methods()) {
    if (name == m->name) return *m;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", m->name);
  }
  throw Error(ErrorCode::usage, fmt::format("{}: it must be one of {}.", option_text("method", name), names));
}

}  // namespace tessera
