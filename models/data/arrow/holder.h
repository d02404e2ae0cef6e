// Ownership of Arrow structs.
#pragma once

namespace tessera {

template <class Arrow>
struct Released {  // a struct taken over, released on destruction
  Arrow value{};
  Released() = default;
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() { release(); }
  void release() {
    if (value.release != nullptr) value.release(&value);
  }
};

// An exported schema or array: private_data is a Holder, which owns its memory, `children` and `dictionary`.
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
