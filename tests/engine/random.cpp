// Philox against its published answers and cuRAND, and properties of random tensors: open intervals, moments,
// independence between rows, steps, purposes and seeds, and numbers of a row that depend on its identity only.
#include "kernels/math/philox.h"

#include <dlfcn.h>

#include "ops/philox_spec.h"
#include "support/golden.h"
#include "support/sandbox.h"

namespace tessera::sandbox {
namespace {

TEST(Philox, MatchesPublishedAnswers) {
  struct {
    uint32_t counter[4], key[2], want[4];
  } known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
               {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                {0xffffffff, 0xffffffff},
                {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
               {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                {0xa4093822, 0x299f31d0},
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const auto& k : known) {
    const Philox w = philox(k.counter[0], k.counter[1], k.counter[2], k.counter[3], k.key[0], k.key[1]);
    const auto spec =
        oracle::philox_words({k.counter[0], k.counter[1], k.counter[2], k.counter[3]}, {k.key[0], k.key[1]});
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(w.word[i], k.want[i]);
      EXPECT_EQ(spec[i], k.want[i]);
    }
  }
}

// disjoint() rejects lists in which two purposes share a number.
constexpr PurposeBlock kTwice[] = {{0, 2}, {3, 1}, {3, 1}}, kInside[] = {{0, 0x1000}, {0x800, 1}},
                       kUnordered[] = {{5, 1}, {2, 1}}, kEmpty[] = {{0, 0}}, kTooFar[] = {{0xFFFF, 2}},
                       kFits[] = {{0, 2}, {2, 1}, {0xFFFF, 1}};
static_assert(!disjoint(kTwice) && !disjoint(kInside) && !disjoint(kUnordered) && !disjoint(kEmpty) &&
              !disjoint(kTooFar) && disjoint(kFits));

TEST(Philox, KeepsPlansWithinTheirPurpose) {
  Plan plan;
  Recorder r(plan);
  r.start_purposes(Purpose::fourth_plan);
  for (uint32_t i = static_cast<uint32_t>(Purpose::fourth_plan); i < end_of(Purpose::fourth_plan); ++i)
    EXPECT_EQ(r.next_purpose(), static_cast<int>(i));
  EXPECT_THROW(r.next_purpose(), Error);
}

TEST(Philox, PacksAllArgumentsIntoTheCounter) {
  const uint64_t seed = 0x0123456789abcdef, index = 0xfedcba9876543210;
  const Philox w = random_words(seed, Purpose::accept, 7, index, 0x1fffe);
  const auto spec = oracle::philox_words({7, 0x76543210, 0xfedcba98, 0x7400fffe}, {0x89abcdef, 0x01234567});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(w.word[i], spec[i]);
}

TEST(Philox, MatchesGoldenVectors) {
  GOLDEN_CASES_OR_SKIP(cases, "philox");
  for (const auto& path : cases) {
    const golden::Case c = golden::read(path);
    const auto &counter = c["counter"], &key = c["key"], &output = c["output"];
    for (int64_t i = 0; i < counter.rows(); ++i) {
      auto word = [&](const golden::Tensor& t, int64_t k) {
        return static_cast<uint32_t>(t.values[static_cast<size_t>(i * t.cols() + k)]);
      };
      const Philox w =
          philox(word(counter, 0), word(counter, 1), word(counter, 2), word(counter, 3), word(key, 0), word(key, 1));
      for (int64_t k = 0; k < 4; ++k) ASSERT_EQ(w.word[k], word(output, k)) << c.name << " row " << i;
    }
  }
}

// cuRAND's host generator needs no GPU. Its subsequences follow one another in the third word of the counter, four
// numbers of each.
TEST(Philox, MatchesCurand) {
  void* library = dlopen("libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("/usr/local/cuda/lib64/libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no cuRAND on this machine";
  constexpr int kPhilox = 161;  // CURAND_RNG_PSEUDO_PHILOX4_32_10
  using Generator = void*;
  const auto create = reinterpret_cast<int (*)(Generator*, int)>(dlsym(library, "curandCreateGeneratorHost"));
  const auto seed =
      reinterpret_cast<int (*)(Generator, unsigned long long)>(dlsym(library, "curandSetPseudoRandomGeneratorSeed"));
  const auto generate = reinterpret_cast<int (*)(Generator, unsigned*, size_t)>(dlsym(library, "curandGenerate"));
  const auto destroy = reinterpret_cast<int (*)(Generator)>(dlsym(library, "curandDestroyGenerator"));
  ASSERT_TRUE(create != nullptr && seed != nullptr && generate != nullptr && destroy != nullptr);
  for (const uint64_t key : {uint64_t{1}, uint64_t{0x0123456789ABCDEF}}) {
    Generator g = nullptr;
    ASSERT_EQ(create(&g, kPhilox), 0);
    std::vector<unsigned> words(4000);
    ASSERT_EQ(seed(g, key), 0);
    ASSERT_EQ(generate(g, words.data(), words.size()), 0);
    for (size_t i = 0; i < words.size(); i += 4) {
      const Philox w =
          philox(0, 0, static_cast<uint32_t>(i / 4), 0, static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
      for (size_t k = 0; k < 4; ++k) ASSERT_EQ(w.word[k], words[i + k]) << "word " << i + k;
    }
    EXPECT_EQ(destroy(g), 0);
  }
}

constexpr int64_t kDrawRows = 500, kDrawCols = 200, kDraws = kDrawRows * kDrawCols;

// One step's draws of a kind, in float by the best kernels.
std::vector<double> draws(Random::Kind kind, uint64_t seed, int purpose = 0, int64_t steps = 1, double keep = 0) {
  Sandbox s;
  s.see(s.r.emit1(Random{kind, purpose, kDrawRows, kDrawCols, keep}, {Var{}}), "x");
  return s.run({&cpu_kernels(), {}, 1, steps, seed})["x"];
}

double mean_of(const std::vector<double>& x, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double v : x) sum += f(v);
  return sum / static_cast<double>(x.size());
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const double mx = mean_of(x, [](double v) { return v; }), my = mean_of(y, [](double v) { return v; });
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    xy += (x[i] - mx) * (y[i] - my), xx += (x[i] - mx) * (x[i] - mx), yy += (y[i] - my) * (y[i] - my);
  return xy / std::sqrt(xx * yy);
}

// Five standard errors: one run in two million fails by chance, and the seeds are fixed.
const double kFive = 5 / std::sqrt(static_cast<double>(kDraws));

TEST(RandomTensor, DrawsUniformsInOpenInterval) {
  const auto u = draws(Random::uniform, 7);
  EXPECT_GT(*std::min_element(u.begin(), u.end()), 0);
  EXPECT_LT(*std::max_element(u.begin(), u.end()), 1);
  EXPECT_NEAR(mean_of(u, [](double x) { return x; }), 0.5, kFive * std::sqrt(1 / 12.0));
  EXPECT_NEAR(mean_of(u, [](double x) { return x * x; }), 1 / 3.0, kFive * std::sqrt(4 / 45.0));
  std::vector<int> bins(64);
  for (const double x : u) ++bins[static_cast<size_t>(x * 64)];
  double chi = 0;
  for (const int n : bins) chi += (n - kDraws / 64.0) * (n - kDraws / 64.0) / (kDraws / 64.0);
  EXPECT_LT(chi, 63 + 5 * std::sqrt(2 * 63.0));
}

TEST(RandomTensor, MapsExtremeWordsIntoOpenInterval) {
  for (const uint32_t word : {0u, 0xFFFFFFFFu}) {
    EXPECT_GT(open_uniform(word), 0.0f);
    EXPECT_LT(open_uniform(word), 1.0f);
    EXPECT_GT(open_uniform(word, word), 0.0);
    EXPECT_LT(open_uniform(word, word), 1.0);
  }
}

TEST(RandomTensor, DrawsNormalsWithStandardMoments) {
  const auto z = draws(Random::normal, 8);
  const double odd[] = {0, 0}, even[] = {1, 3}, spread_odd[] = {1, std::sqrt(15.0)},
               spread_even[] = {std::sqrt(2.0), std::sqrt(96.0)};
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR(mean_of(z, [&](double x) { return std::pow(x, 2 * k + 1); }), odd[k], kFive * spread_odd[k])
        << "moment " << 2 * k + 1;
    EXPECT_NEAR(mean_of(z, [&](double x) { return std::pow(x, 2 * k + 2); }), even[k], kFive * spread_even[k])
        << "moment " << 2 * k + 2;
  }
  const double tail = mean_of(z, [](double x) { return std::fabs(x) > 3 ? 1.0 : 0.0; });
  EXPECT_NEAR(tail, 0.0026998, kFive * std::sqrt(0.0027));
}

TEST(RandomTensor, DrawsBernoulliWithItsProbability) {
  for (const double keep : {0.5, 0.9, 0.03, 0.0, 1.0}) {
    const auto b = draws(Random::bernoulli, 9, 0, 1, keep);
    for (const double x : b) ASSERT_TRUE(x == 0 || x == 1);
    EXPECT_NEAR(mean_of(b, [](double x) { return x; }), keep, kFive * std::sqrt(keep * (1 - keep)) + 1e-12);
  }
}

TEST(RandomTensor, DrawsIndependentStreams) {
  const auto one = draws(Random::normal, 7);
  for (const auto& [what, other] :
       {std::pair{"next step", draws(Random::normal, 7, 0, 2)},
        {"other purpose", draws(Random::normal, 7, 1)},
        {"other seed", draws(Random::normal, 8)},
        {"seed differing in the high word", draws(Random::normal, 7 + (uint64_t{1} << 32))}}) {
    EXPECT_NE(one, other) << what;
    EXPECT_LT(std::fabs(correlation(one, other)), kFive) << what;
  }
  for (const int64_t lag : {int64_t{1}, int64_t{2}, int64_t{4}, kDrawCols, 16 * kDrawCols})
    EXPECT_LT(std::fabs(correlation(std::vector<double>(one.begin(), one.end() - lag),
                                    std::vector<double>(one.begin() + lag, one.end()))),
              1.2 * kFive)
        << "elements " << lag << " apart";
  EXPECT_EQ(one, draws(Random::normal, 7));
}

TEST(RandomTensor, DrawsByRowIdentityAlone) {
  auto with = [](const std::vector<int>& ids, int64_t steps) {
    Sandbox s;
    std::vector<int> rows;
    for (const int id : ids) rows.insert(rows.end(), {id, 3, id % 5});
    const int64_t n = static_cast<int64_t>(ids.size());
    const Var identity = s.index("rows", {n, 3}, rows);
    s.see(s.r.emit1(Random{Random::normal, 11, n, 37, 0}, {identity}), "x");
    return s.run({&cpu_kernels(), {}, 1, steps})["x"];
  };
  const auto many = with({5, 9, -2, 1000000, 7, 1, 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17}, 1);
  const auto few = with({7, -2}, 3);
  EXPECT_TRUE(std::equal(few.begin(), few.begin() + 37, many.begin() + 4 * 37));
  EXPECT_TRUE(std::equal(few.begin() + 37, few.end(), many.begin() + 2 * 37));
  EXPECT_FALSE(std::equal(few.begin(), few.begin() + 37, few.begin() + 37));
}

}  // namespace
}  // namespace tessera::sandbox
