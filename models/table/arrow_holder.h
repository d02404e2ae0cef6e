// An Arrow schema or array given away: private_data is a Holder, which owns its memory, `children` and `dictionary`.
#pragma once

namespace tessera {

template <class Holder, class Arrow>
void release_holder(Arrow* a) {
  if (a->release == nullptr) return;
  auto* holder = static_cast<Holder*>(a->private_data);
  for (Arrow& child : holder->children)
    if (child.release != nullptr) child.release(&child);
  if (holder->dictionary.release != nullptr) holder->dictionary.release(&holder->dictionary);
  delete holder;
  a->release = nullptr;
  a->private_data = nullptr;
}

}  // namespace tessera
