// Random tables whose perceptrons a device computes are those of the processor, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "base/cpu/cpu_features.h"
#include "emulated_device.h"
#include "engine/device/device_api.h"
#include "engine/run/device_run.h"
#include "kernels/activations.h"
#include "models/prior/draw_each.h"

namespace tessera {
namespace {

using namespace prior;

std::string name_of(Activation f) { return "activation " + std::to_string(static_cast<int>(f)); }

// What one table has that a kernel may get wrong.
std::set<std::string> traits_of(const Settings& s) {
  std::set<std::string> out{s.causal ? "causal" : "its causes are its features",
                            s.block_dropout ? "weights in blocks" : "weights at random",
                            s.noise_by_unit ? "noise by unit" : "noise of one size",
                            s.causal && s.y_is_effect ? "the last unit is the target" : "another target"};
  for (int l = 0; l + 1 < s.layers + (s.causal ? 0 : 1); ++l)
    out.insert(name_of(activation_of(s.activations[static_cast<size_t>(l)])));
  if (s.layers > 5) out.insert("many layers");
  if (s.causes == 1) out.insert("one cause");
  if (s.hidden > 64) out.insert("two tiles of units");
  return out;
}

// Tables of their first attempt that have all traits together, small ones, with `curves` random functions at most.
std::vector<int64_t> chosen(const Options& o, std::set<std::string> wanted, int curves) {
  std::vector<int64_t> out;
  Work work;
  for (int64_t i = 0; i < 20000 && !wanted.empty(); ++i) {
    const Settings s = draw_settings(o, {o.seed, static_cast<uint32_t>(i), 0});
    const std::set<std::string> traits = traits_of(s);
    int random = 0;
    for (int l = 0; l + 1 < s.layers + (s.causal ? 0 : 1); ++l)
      random += activation_of(s.activations[static_cast<size_t>(l)]) == Activation::random ? 1 : 0;
    const bool more = std::any_of(traits.begin(), traits.end(), [&](const auto& t) { return wanted.contains(t); });
    if (s.kind != Kind::mlp || s.layers > 8 || s.hidden > 90 || random > curves || !more) continue;
    if (draw_table(o, i, work).attempts > 1) continue;
    for (const std::string& t : traits) wanted.erase(t);
    curves -= random;
    out.push_back(i);
  }
  EXPECT_TRUE(wanted.empty()) << *wanted.begin();
  return out;
}

// The emulated device; counts the tables that it is given.
struct Counting {
  static inline int64_t tables = 0;
  static inline const DeviceApi* own = nullptr;
  DeviceApi api = *tessera_device_backend();
  Device device;
  Counting() : device((own = tessera_device_backend(), tables = 0, api.perceptrons = count, api), 0) {}
  static DeviceStatus count(DeviceSession* s, const Perceptrons& p) {
    tables += p.tables;
    return own->perceptrons(s, p);
  }
};

void expect_the_processors(const Options& o, const std::vector<int64_t>& numbers, Team& team, int64_t on_device) {
  if (std::string(array_kernels().name) == "plain") GTEST_SKIP() << "no fused multiply-add";
  Counting counting;
  std::map<int64_t, PriorTable> found;
  std::mutex lock;
  draw_each(
      o, static_cast<int64_t>(numbers.size()), [&](int64_t i) { return numbers[static_cast<size_t>(i)]; }, team,
      &counting.device,
      [&](int64_t i, PriorTable&& t) {
        const std::lock_guard one(lock);
        found[numbers[static_cast<size_t>(i)]] = std::move(t);
      });
  EXPECT_EQ(counting.tables, on_device);
  ASSERT_EQ(found.size(), numbers.size());
  Work work;
  for (const auto& [i, t] : found) {
    const PriorTable expected = draw_table(o, i, work);
    EXPECT_EQ(t.attempts, expected.attempts) << i;
    ASSERT_EQ(t.x.size(), expected.x.size()) << i;
    EXPECT_EQ(std::memcmp(t.x.data(), expected.x.data(), t.x.size() * sizeof(float)), 0) << "features of table " << i;
    EXPECT_EQ(std::memcmp(t.y.data(), expected.y.data(), t.y.size() * sizeof(float)), 0) << "target of table " << i;
  }
}

Options options(int64_t rows, int64_t least, int64_t most) {
  Options o;
  o.rows = {rows, rows}, o.features = {least, most}, o.kind = Kind::mlp, o.seed = 3;
  o.task = Task::regression;  // numbers, which show every bit of the target
  return o;
}

TEST(PriorOnDevice, TablesAreTheProcessors) {
  std::set<std::string> wanted{"causal",
                               "its causes are its features",
                               "weights in blocks",
                               "one cause",
                               "weights at random",
                               "noise by unit",
                               "many layers",
                               "the last unit is the target",
                               "another target",
                               "noise of one size",
                               "two tiles of units"};
  for (int f = 0; f < static_cast<int>(Activation::random); ++f) wanted.insert(name_of(static_cast<Activation>(f)));
  const Options o = options(37, 1, 9);
  const std::vector<int64_t> numbers = chosen(o, wanted, 0);
  Team team(2);
  expect_the_processors(o, numbers, team, static_cast<int64_t>(numbers.size()));
}

TEST(PriorOnDevice, RandomFunctionsAreTheProcessors) {
  const Options o = options(70, 2, 3);
  const std::vector<int64_t> numbers = chosen(o, {name_of(Activation::random)}, 1);
  Team team(1);
  expect_the_processors(o, numbers, team, 1);
}

// A layer by itself, with every activation; all knots of its curve; places beyond them, of a unit with
// one large number; NaN; and the weights of another attempt.
TEST(PriorOnDevice, ALayerIsTheProcessors) {
  if (std::string(array_kernels().name) == "plain") GTEST_SKIP() << "no fused multiply-add";
  constexpr int64_t kUnits = 3, kRows = 50, kStride = 64;
  Device& device = emulated_device();
  DeviceArray<PerceptronLayer> layer(device, 1, "a layer");
  DeviceArray<float> in(device, kStride, "causes"), zeros(device, kUnits, "biases"),
      out(device, kUnits * kStride, "units"), columns(device, kUnits * kStride, "units"),
      matrix(device, kUnits, "weights");
  DeviceArray<int32_t> shown(device, kUnits, "columns");
  DeviceArray<CurveTerms> terms(device, 1, "terms");
  DeviceArray<RandomCurve> curve(device, 1, "a curve");
  Draws d({1, 2, 3}, Use::structure);
  for (int64_t i = 0; i < kRows; ++i) in.here[static_cast<size_t>(i)] = static_cast<float>(i == 20 ? 500 : d.normal());
  for (int64_t j = 0; j < kUnits; ++j) shown.here[static_cast<size_t>(j)] = static_cast<int32_t>(j);
  for (int k = 0; k < kCurveTerms; ++k) {
    terms.here[0].frequency[k] = static_cast<float>(256 * d.uniform());
    terms.here[0].turn[k] = static_cast<float>(d.uniform()), terms.here[0].weight[k] = static_cast<float>(d.normal());
  }
  const TableKey key{7, 5, 3};
  for (int f = 0; f <= 2 * static_cast<int>(Activation::random) + 1; ++f) {
    zeros.here[1] = f % 2 == 0 ? 0.5f : NAN;
    PerceptronLayer& y = layer.here[0];
    y.inputs = 1, y.outputs = kUnits, y.rows = kRows, y.stride = kStride, y.table = key.table, y.attempt = key.attempt;
    y.weights = purpose_of(Use::weights, 1), y.scale = 0.75f, y.f = static_cast<Activation>(f / 2), y.a = 1.5,
    y.b = 0.25;
    y.in = in.on_device(), y.bias = y.deviation = zeros.on_device(), y.shown = shown.on_device();
    y.out = out.on_device(), y.columns = columns.on_device(), y.matrix = matrix.on_device();
    y.terms = y.f == Activation::random ? terms.on_device() : nullptr, y.curve = curve.on_device();
    layer.upload(), in.upload(), zeros.upload(), shown.upload(), terms.upload();
    device.check(device.api().perceptrons(device.session(), {key.seed, 1, 1, 1, kUnits, kStride, layer.on_device()}));
    matrix.download(), columns.download(), out.download(), curve.download();
    float weights[kUnits];
    draw_matrix(Random::normal, purpose_of(Use::weights, 1), key, 0, 0, kUnits, 1, 1, weights);
    auto expected = std::make_unique<RandomCurve>();
    if (y.terms != nullptr) {
      static_cast<CurveTerms&>(*expected) = terms.here[0];
      array_kernels().tabulate_curve(*expected);
      EXPECT_EQ(std::memcmp(expected->value, curve.here[0].value, sizeof expected->value), 0);
      EXPECT_EQ(std::memcmp(expected->rise, curve.here[0].rise, sizeof expected->rise), 0);
    }
    for (int64_t j = 0; j < kUnits; ++j) {
      EXPECT_EQ(matrix.here[static_cast<size_t>(j)], weights[j] * 0.75f);
      std::vector<float> unit(columns.here.begin() + j * kStride, columns.here.begin() + j * kStride + kRows);
      UnitMoments m{};
      array_kernels().shifted_moments(unit.data(), nullptr, 0, 0, kRows, &m.mean, &m.deviation);
      const Standardized s = standardized(m, y.a, y.b, y.f == Activation::random);
      array_kernels().activate(y.f, s.mean, s.scale, s.shift, expected.get(), kRows, unit.data());
      for (size_t i = 0; i < unit.size(); ++i) {
        const float found = out.here[static_cast<size_t>(j * kStride) + i];
        if (std::isnan(unit[i])) EXPECT_TRUE(std::isnan(found));
        else EXPECT_EQ(found, unit[i]) << name_of(y.f) << ", unit " << j << ", row " << i;
      }
    }
  }
}

// More inputs than a chain of the product has; and fewer rows than lanes of a sum.
TEST(PriorOnDevice, ManyUnitsAreTheProcessors) {
  Options o = options(10, 130, 130);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; numbers.empty(); ++i) {
    const Settings s = draw_settings(o, {o.seed, static_cast<uint32_t>(i), 0});
    if (s.causal && s.layers == 3 && !traits_of(s).contains(name_of(Activation::random))) numbers.push_back(i);
  }
  Team team(2);
  expect_the_processors(o, numbers, team, 1);
}

// Trees, and what a memory limit leaves no room for, are drawn by the team; rows and kinds may differ in a batch.
TEST(PriorOnDevice, TheRestIsDrawnByTheTeam) {
  Options o = options(10, 1, 4);
  o.rows.high = 60, o.kind = Kind::mix, o.task = Task::classification;
  std::vector<int64_t> numbers;
  int64_t perceptrons = 0;
  for (int64_t i = 0; numbers.size() < 6; ++i) {
    const Settings s = draw_settings(o, {o.seed, static_cast<uint32_t>(i), 0});
    if (s.kind == Kind::mlp && (traits_of(s).contains(name_of(Activation::random)) || s.hidden > 60)) continue;
    numbers.push_back(i), perceptrons += s.kind == Kind::mlp ? 1 : 0;
  }
  ASSERT_LT(perceptrons, 6);
  Team team(2), tight(2, std::make_shared<MemoryLimit>(1 << 16));
  expect_the_processors(o, numbers, team, perceptrons);
  expect_the_processors(o, numbers, tight, 0);
}

}  // namespace
}  // namespace tessera
