#include "models/method/method.h"

#include <algorithm>

#include "models/method/given.h"

namespace tessera {

Phase passes_over(int64_t rows, int64_t epochs, int64_t batch, double decay_from) {
  const int64_t epoch = std::max<int64_t>(rows / batch, 1);
  Phase p{"train", epochs * epoch, batch, epoch, true};
  p.decay_from = decay_from;
  return p;
}

void bind_rows(Program& p, const EncodedTable& table) {
  p.bind_if("codes", table.codes.data());
  p.bind_if("alphas", table.alphas.data());
}

void load_states(Program& p, const States& states) {
  for (const auto& [leaf, values] : states) {
    const Id id = p.plan().find_leaf(leaf);
    // A method that samples under conditions may use a state of another size instead of a kept one; it then loads it
    // itself.
    if (id != kNone && p.plan().shape(id).count() == static_cast<int64_t>(values.size())) p.put(leaf, values.data());
  }
}

std::unique_ptr<GivenGenerator> RowMethod::given_generator(const FittedState&, uint64_t, Team&) const {
  return nullptr;
}

}  // namespace tessera
