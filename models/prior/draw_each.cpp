#include "models/prior/draw_each.h"

#include <atomic>

#include "engine/run/device_run.h"

namespace tessera::prior {
namespace {

constexpr int64_t kTablesAtOnce = 256, kBytesAtOnce = int64_t{1} << 30;
constexpr const char* kMemory = "random tables on a device";

// make(i, work) for i in [0, count) on all threads.
template <class Make>
void on_all(Team& team, int64_t count, const Make& make) {
  std::atomic<int64_t> next{0};
  team.run([&](int) {
    try {
      Work work;
      for (int64_t i; (i = next.fetch_add(1)) < count;) make(i, work);
    } catch (...) {
      next = count;
      throw;
    }
  });
}

int64_t whole_registers(int64_t n) { return (n + 15) / 16 * 16; }

// The lengths of the arrays of one table, or of several; or the offsets of a table in them.
struct Lengths {
  int64_t tables = 0, layers = 0;  // layers: the most
  int64_t numbers = 0;             // causes, then for each layer biases and deviations of the noise
  int64_t units = 0;               // of all layers
  int64_t terms = 0;               // curves
  int64_t columns = 0;             // numbers that are shown
  int64_t values = 0;              // two layers, and the weights between them

  static Lengths of(const Settings& s, int64_t stride) {
    Lengths n{1, s.layers + (s.causal ? 0 : 1)};
    n.units = n.layers * s.hidden;
    n.numbers = s.causes * stride + whole_registers(2 * n.units);
    for (int64_t l = 0; l + 1 < n.layers; ++l)
      n.terms += activation_of(s.activations[static_cast<size_t>(l)]) == Activation::random ? 1 : 0;
    n.columns = (s.causal ? s.features + 1 : 1) * stride;
    n.values = 2 * s.hidden * stride + whole_registers(s.hidden * int64_t{std::max(s.hidden, s.causes)});
    return n;
  }
  void add(const Lengths& more) {
    tables += more.tables, layers = std::max(layers, more.layers);
    numbers += more.numbers, units += more.units, terms += more.terms, columns += more.columns, values += more.values;
  }
  int64_t bytes_here() const {
    return 4 * (numbers + units + columns) + terms * int64_t{sizeof(CurveTerms)} +
           tables * layers * int64_t{sizeof(PerceptronLayer)};
  }
  int64_t bytes() const { return bytes_here() + 4 * values + tables * int64_t{sizeof(RandomCurve)}; }
};

// A table of a batch.
struct Planned {
  TableKey key{};
  Settings settings;
  int64_t stride = 0;
  bool on_device = false;
  Lengths at;
  // the columns that show the target and, if the perceptron is causal, each feature
  std::vector<int32_t> shown;
};

// Perceptrons that a device computes together.
class Batch {
 public:
  Batch(std::vector<Planned> tables, const Lengths& all, Team& team, Device& device)
      : device_(device),
        tables_(std::move(tables)),
        all_(all),
        held_(team.share(all.bytes_here(), kMemory)),
        layers_(device, all.layers * all.tables, kMemory),
        numbers_(device, all.numbers, kMemory),
        columns_(device, all.columns, kMemory),
        shown_(device, all.units, kMemory),
        terms_(device, all.terms, kMemory),
        values_(device, 4 * all.values, kMemory),
        curves_(device, all.tables * int64_t{sizeof(RandomCurve)}, kMemory) {}

  int64_t size() const { return static_cast<int64_t>(tables_.size()); }
  const Planned& operator[](int64_t i) const { return tables_[static_cast<size_t>(i)]; }

  // Draws on the host for table i.
  void prepare(int64_t i, Work& work) {
    Planned& p = tables_[static_cast<size_t>(i)];
    if (!p.on_device) return;
    const Settings& s = p.settings;
    draw_causes(s, p.key, work);
    std::copy_n(work.layer[0], s.causes * p.stride, numbers_.here.data() + p.at.numbers);
    const DrawnPerceptron drawn = draw_structure(s, p.key);
    show(drawn, p);
    int64_t terms = p.at.terms;
    for (size_t l = 0; l < drawn.layers.size(); ++l) terms += fill(drawn, static_cast<int64_t>(l), p, terms);
  }

  void run() {
    if (all_.tables == 0) return;
    Perceptrons call{tables_[0].key.seed, static_cast<int32_t>(all_.tables), static_cast<int32_t>(all_.layers)};
    for (const PerceptronLayer& y : layers_.here) {
      call.inputs = std::max(call.inputs, y.inputs), call.outputs = std::max(call.outputs, y.outputs);
      call.stride = std::max(call.stride, y.stride);
    }
    layers_.upload(), numbers_.upload(), shown_.upload(), terms_.upload();
    call.layer = layers_.on_device();
    device_.check(device_.api().perceptrons(device_.session(), call));
    columns_.download();
  }

  // The units of table i.
  void take(int64_t i, Work& work) const {
    const Planned& p = (*this)[i];
    const auto n = static_cast<size_t>(p.settings.rows);
    const auto column = [&](size_t j) { return columns_.here.data() + p.at.columns + p.shown[j] * p.stride; };
    work.x.resize(p.settings.features, p.settings.rows);
    work.y.assign(column(0), column(0) + n);
    for (int64_t j = 0; j < p.settings.features; ++j)
      std::copy_n(
          p.settings.causal ? column(static_cast<size_t>(j) + 1) : numbers_.here.data() + p.at.numbers + j * p.stride,
          n, work.x[j]);
  }

 private:
  // Gives each unit that the table shows a column.
  void show(const DrawnPerceptron& drawn, Planned& p) {
    int32_t* const column = shown_.here.data() + p.at.units;
    const int64_t hidden = p.settings.hidden, layers = static_cast<int64_t>(drawn.layers.size());
    std::fill_n(column, layers * hidden, -1);
    std::vector<int64_t> units = drawn.units;  // from the second layer on
    if (units.empty()) units = {(layers - 2) * hidden};
    int32_t next = 0;
    for (const int64_t unit : units) {  // the target may be a feature too
      int32_t& own = column[hidden + unit];
      if (own < 0) own = next++;
      p.shown.push_back(own);
    }
  }

  // The layer for the device. Returns the number of its curves.
  int64_t fill(const DrawnPerceptron& drawn, int64_t l, const Planned& p, int64_t terms) {
    const DrawnLayer& from = drawn.layers[static_cast<size_t>(l)];
    const int64_t hidden = p.settings.hidden, numbers = p.at.numbers + p.settings.causes * p.stride + 2 * l * hidden;
    std::copy(from.bias.begin(), from.bias.end(), numbers_.here.begin() + numbers);
    std::copy(from.deviation.begin(), from.deviation.end(), numbers_.here.begin() + numbers + hidden);
    float* const values = reinterpret_cast<float*>(values_.data()) + p.at.values;
    PerceptronLayer& y = layers_.here[static_cast<size_t>(l * all_.tables + p.at.tables)];
    y.inputs = static_cast<int32_t>(from.inputs), y.outputs = static_cast<int32_t>(from.outputs);
    y.rows = static_cast<int32_t>(p.settings.rows), y.stride = static_cast<int32_t>(p.stride);
    y.table = p.key.table, y.attempt = p.key.attempt;
    const auto number = static_cast<int>(l);
    y.weights = purpose_of(Use::weights, number);
    if (from.keep < 1) y.kept = purpose_of(Use::kept, number);
    if (l > 0) y.noise = purpose_of(Use::noise, number);
    y.scale = from.scale, y.keep = static_cast<float>(from.keep);
    y.blocks = static_cast<int32_t>(from.blocks), y.down = static_cast<int32_t>(from.down);
    y.across = static_cast<int32_t>(from.across);
    y.bias = numbers_.on_device() + numbers, y.deviation = y.bias + hidden;
    y.shown = shown_.on_device() + p.at.units + l * hidden;
    y.in = l == 0 ? numbers_.on_device() + p.at.numbers : values + (l - 1) % 2 * hidden * p.stride;
    y.out = values + l % 2 * hidden * p.stride, y.columns = columns_.on_device() + p.at.columns;
    y.matrix = values + 2 * hidden * p.stride;
    y.curve = reinterpret_cast<RandomCurve*>(curves_.data()) + p.at.tables;
    y.last = l + 1 == static_cast<int64_t>(drawn.layers.size());
    if (y.last) return 0;
    const DrawnLayer& after = drawn.layers[static_cast<size_t>(l + 1)];
    y.f = after.f, y.a = after.a, y.b = after.b;
    if (after.terms == nullptr) return 0;
    terms_.here[static_cast<size_t>(terms)] = *after.terms;
    y.terms = terms_.on_device() + terms;
    return 1;
  }

  Device& device_;
  std::vector<Planned> tables_;
  Lengths all_;
  MemoryShare held_;
  DeviceArray<PerceptronLayer> layers_;
  DeviceArray<float> numbers_, columns_;
  DeviceArray<int32_t> shown_;
  DeviceArray<CurveTerms> terms_;
  DeviceBytes values_, curves_;
};

// Tables from the i-th on: at least one, and as many as fit.
Batch plan_batch(const Options& options, int64_t i, int64_t count, const std::function<int64_t(int64_t)>& number,
                 Team& team, Device& device) {
  const int64_t left = team.limit() == nullptr ? INT64_MAX : team.limit()->left(),
                room = std::min({kBytesAtOnce, device.free_memory() / 2, left / 2});
  std::vector<Planned> tables;
  Lengths all;
  for (; i < count && static_cast<int64_t>(tables.size()) < kTablesAtOnce; ++i) {
    Planned p;
    p.key = {options.seed, static_cast<uint32_t>(number(i)), 0};
    p.settings = draw_settings(options, p.key);
    p.stride = whole_registers(p.settings.rows);
    Lengths with = all;
    const Lengths own = Lengths::of(p.settings, p.stride);
    with.add(own);
    if (p.settings.kind == Kind::mlp && own.bytes() <= room) {
      if (with.bytes() > room) break;
      p.on_device = true, p.at = all, all = with;
    }
    tables.push_back(std::move(p));
  }
  return {std::move(tables), all, team, device};
}

}  // namespace

void draw_each(const Options& options, int64_t count, const std::function<int64_t(int64_t)>& number, Team& team,
               Device* device, const TakeTable& take) {
  if (device == nullptr || options.kind == Kind::tree || options.kind == Kind::graph)
    return on_all(team, count, [&](int64_t i, Work& work) { take(i, draw_table(options, number(i), work)); });
  for (int64_t first = 0; first < count;) {
    Batch batch = plan_batch(options, first, count, number, team, *device);
    on_all(team, batch.size(), [&](int64_t i, Work& work) { batch.prepare(i, work); });
    batch.run();
    on_all(team, batch.size(), [&](int64_t i, Work& work) {
      Given given;
      if (batch[i].on_device) given = [&](Work& to) { batch.take(i, to); };
      take(first + i, draw_table(options, batch[i].key.table, work, given));
    });
    first += batch.size();
  }
}

}  // namespace tessera::prior
