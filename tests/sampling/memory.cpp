// Sampling where memory is short: batches are halved, what failed is begun again, and no row is another one.
#include <cstdlib>
#include <new>

#include "models/tables.h"

namespace {

int arenas_left = -1;  // aligned allocations that succeed before one fails; −1: all do

}  // namespace

// Arenas are the only aligned allocations that may fail (engine/run/program.cpp).
void* operator new(size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  if (arenas_left >= 0 && arenas_left-- == 0) return nullptr;
  const size_t a = static_cast<size_t>(align);
  return std::aligned_alloc(a, (bytes + a - 1) / a * a);
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }

namespace tessera::whole {
namespace {

Table colours(int64_t rows) {
  return table({whole_by("age", rows, [](int64_t i) { return std::floor(20 + 60 * uniform(i)); }),
                texts_by("colour", rows, [](int64_t i) { return std::string(uniform(i, 2) < 0.3 ? "red" : "blue"); })});
}

struct Drawn {
  std::vector<std::string> rows;
  int notices = 0;
};
Drawn draw(const Model& model, const std::string& where, std::shared_ptr<MemoryLimit> limit = nullptr) {
  Drawn out;
  Monitor monitor;
  monitor.on_progress = [&](const Progress& p) { out.notices += std::string(p.phase) == "notice"; };
  Team team(2, std::move(limit));
  SampleOptions o;
  o.where = where;
  const auto stream = model.sample(0, 700, o, team, monitor);
  out.rows = lines(drain(*stream, model.schema()));
  return out;
}

TEST(SamplingMemory, HalvesTheBatchAfterAFailedAllocation) {
  for (const bool calibrated : {false, true}) {
    FitOptions o = quick(2, 100);
    if (calibrated) o.calibrate = Tier::marginals;
    const Model model = fit(colours(600), o);
    for (const std::string where : {"", "colour = 'red'"}) {
      const Drawn want = draw(model, where);
      EXPECT_EQ(want.notices, 0);
      int failures = 0;
      for (int k = 0; k < 8; ++k) {
        arenas_left = k;
        const Drawn got = draw(model, where);
        failures += got.notices;
        arenas_left = -1;
        EXPECT_TRUE(got.rows == want.rows) << "allocation " << k << " failed, where " << where;
      }
      EXPECT_GE(failures, 3) << where;
    }
  }
}

TEST(SamplingMemory, HalvesTheBatchToMeetALimit) {
  const Model model = fit(colours(600), quick(2, 100));
  const Drawn want = draw(model, "");
  int halved = 0, refused = 0;
  for (int64_t limit = 4 << 20; limit >= 1 << 14; limit = limit / 10 * 9) {
    const auto bounded = std::make_shared<MemoryLimit>(limit);
    try {
      const Drawn got = draw(model, "", bounded);
      EXPECT_TRUE(got.rows == want.rows) << limit;
      halved += got.notices;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::memory);
      ++refused;
    }
    EXPECT_EQ(bounded->held(), 0);
  }
  EXPECT_GT(halved, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace tessera::whole
