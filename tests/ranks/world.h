// Ranks that are threads of the test.
#pragma once
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "engine/comm/threads.h"

namespace tessera {

// Runs `body` as every rank of a world; the first exception of a rank is rethrown.
inline void as_ranks(int size, const std::function<void(Communicator&)>& body) {
  const auto world = ThreadWorld::create(size);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      const auto rank = world->communicator(r);
      try {
        body(*rank);
      } catch (...) { errors[static_cast<size_t>(r)] = std::current_exception(); }
    });
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
}

}  // namespace tessera
