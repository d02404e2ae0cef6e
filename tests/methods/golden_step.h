// Float runs on float_device(): the processor, or, where tests/gpu compiles these tests, the CUDA backend on the
// emulated machine.
// Shared by the golden tests of training steps: reading a case's layout, feeding a program, comparing values,
// gradients and updates.
#pragma once
#include <functional>
#include <memory>

#include "engine/passes/passes.h"
#include "engine/run/program.h"
#include "models/layers/recording.h"
#include "models/layers/weights.h"
#include "support/float_device.h"
#include "support/golden.h"

namespace tessera::golden_step {

struct Setting {
  const char* name;
  bool optimized;
};
inline const Setting kSettings[] = {{"all passes", true}, {"no pass", false}};

// The spans of a case as the encoder would lay them out.
inline RowLayout layout_of(const nlohmann::json& config) {
  RowLayout layout;
  for (const auto& s : config["spans"]) {
    const std::string part = s["part"];
    layout.spans.push_back({s["column"],
                            part == "alpha"  ? Span::Part::alpha
                            : part == "mode" ? Span::Part::mode
                                             : Span::Part::category,
                            s["start"], s["width"], s["cond_start"].is_null() ? -1 : s["cond_start"].get<int>()});
    layout.data_width += s["width"].get<int>();
  }
  layout.cond_width = config.value("cond_width", 0);
  return layout;
}

// The data part of rows of [data ‖ rest] as sparse entries: exact one-hot blocks and positions.
struct Entries {
  std::vector<int32_t> index;
  std::vector<double> value;
};
inline Entries entries_of(const SpanTable& spans, const golden::Tensor& t) {
  Entries e;
  for (int64_t b = 0; b < t.rows(); ++b) {
    const double* row = t.values.data() + b * t.cols();
    for (int s = 0; s < spans.count; ++s) {
      const auto& span = spans.items[s];
      int hot = 0;
      for (int k = 0; k < span.width && span.softmax; ++k)
        if (row[span.start + k] == 1) hot = k;
      e.index.push_back(span.start + hot);
      e.value.push_back(row[span.start + hot]);
    }
  }
  return e;
}

// Bound memory in the program's scalar.
template <class T>
struct Feeds {
  std::map<std::string, std::vector<T>> reals;
  const T* real(const std::string& name, const std::vector<double>& v) {
    return (reals[name] = std::vector<T>(v.begin(), v.end())).data();
  }
};

// How a model's weights stand in files: calls its visitor for every parameter of a set.
using Visit = std::function<void(const ParameterSet&, const WeightVisitor&)>;

template <class T>
void load(const Visit& visit, Program& p, const ParameterSet& set, const golden::Case& c) {
  std::vector<T> flat = p.get<T>(set.name);
  visit(set, [&](const std::string& name, const std::vector<int64_t>& shape, const auto& element) {
    const auto& t = c[name];
    ASSERT_EQ(t.shape, shape) << name;
    for (size_t i = 0; i < t.values.size(); ++i)
      flat[static_cast<size_t>(element(static_cast<int64_t>(i)))] = static_cast<T>(t.values[i]);
  });
  p.put(set.name, flat.data());
}

inline double largest(const std::vector<double>& v) {
  double m = 0;
  for (const double x : v) m = std::max(m, std::fabs(x));
  return m;
}

template <class V>
void near(const std::vector<V>& got, const golden::Tensor& want, double tolerance, double floor,
          const std::string& what) {
  ASSERT_EQ(got.size(), want.values.size()) << what;
  const double scale = std::max({largest(want.values), floor, 1e-300});
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(std::isfinite(static_cast<double>(got[i]))) << what << "[" << i << "]";
    worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - want.values[i]));
  }
  EXPECT_LE(worst / scale, tolerance) << what;
}

template <class T>
void scalars(const Program& p, const golden::Case& c, double tolerance) {
  for (const auto& [name, value] : c.config["expected"].items()) {
    if (!value.is_number() || p.find(name) == kNone) continue;
    const double want = value, got = static_cast<double>(p.read<T>(p.find(name))[0]);
    EXPECT_LE(std::fabs(got - want) / std::max(std::fabs(want), 1.0), tolerance) << c.name << " " << name;
  }
}

// Gradients and values after the update, for every weight of a set.
template <class T>
void updates(const Visit& visit, Program& p, const ParameterSet& set, const golden::Case& c, double tolerance) {
  const bool exact = sizeof(T) == 8;
  const double lr = c.config["adam"]["lr"], decay = c.config["adam"]["weight_decay"], eps = c.config["adam"]["eps"];
  double gradient = 0;
  for (const auto& [name, t] : c.tensors)
    if (name.rfind("grad.", 0) == 0) gradient = std::max(gradient, largest(t.values));
  const std::vector<T> after = p.get<T>(set.name);
  visit(set, [&](const std::string& name, const std::vector<int64_t>&, const auto& element) {
    const Parameter& parameter = set.find(name.substr(set.name.size() + 1));
    const Id id = p.find("grad." + name);
    ASSERT_NE(id, kNone) << name;
    const std::vector<T> memory = p.read<T>(id);
    const golden::Tensor &want = c["grad." + name], &then = c["after." + name];
    std::vector<T> grad, now;
    for (size_t i = 0; i < want.values.size(); ++i) {
      grad.push_back(memory[static_cast<size_t>(element(static_cast<int64_t>(i)) - parameter.offset)]);
      now.push_back(after[static_cast<size_t>(element(static_cast<int64_t>(i)))]);
    }
    near(grad, want, tolerance, 1e-3 * gradient, c.name + " grad." + name);
    const double steep = largest(want.values), large = std::max(largest(then.values), 1e-3);
    const bool behind_norm = name.find("linear.bias") != std::string::npos;
    for (size_t i = 0; i < now.size(); ++i) {
      const double difference = std::fabs(static_cast<double>(now[i]) - then.values[i]);
      if (behind_norm) {
        // Its gradient is rounding noise, so its direction is arbitrary: only the length of Adam's first step is known.
        EXPECT_LE(std::fabs(static_cast<double>(now[i]) - c[name].values[i]), 1.01 * lr + decay * lr + eps) << name;
      } else if (exact) {
        EXPECT_LE(difference, 1e-10 * large) << c.name << " after." << name << "[" << i << "]";
      } else {
        const bool sure = std::fabs(want.values[i]) >= 1e-3 * steep;
        EXPECT_LE(difference, (sure ? 0.01 : 2.0) * lr + 6e-8 * std::fabs(then.values[i]))
            << c.name << " after." << name << "[" << i << "]";
      }
    }
  });
}

// Gradients are read after the step, so they are made outputs.
template <class T>
std::unique_ptr<Program> program(Plan plan, bool optimized, Team& team) {
  for (const auto& [id, name] : plan.names)
    if (name.rfind("grad.", 0) == 0) plan.outputs.push_back(id);
  optimize(plan, optimized ? std::set<std::string>{} : std::set<std::string>{"all"});
  if (sizeof(T) == 8) return std::make_unique<Program>(std::move(plan), isa_plain::kernels_f64(), team, 1);
  return std::make_unique<Program>(std::move(plan), float_device(), team, 1);
}

inline void bind(Program& p, const std::string& name, const void* data) {
  if (p.plan().find_leaf(name) != kNone) p.bind(name, data);
}

// Everything the vectors hold under the leaf's own name.
template <class T>
void bind_named(Program& p, Feeds<T>& feeds, const golden::Case& c) {
  for (const Leaf& leaf : p.plan().leaves)
    if (leaf.kind == Leaf::bound && c.has(leaf.name)) p.bind(leaf.name, feeds.real(leaf.name, c[leaf.name].values));
}

template <class F>
void each_case(const char* kind, F&& body) {
  GOLDEN_CASES_OR_SKIP(cases, kind);
  for (const auto& path : cases) {
    const golden::Case c = golden::read(path);
    for (const Setting& s : kSettings) {
      SCOPED_TRACE(c.name + ", " + s.name);
      body(c, s.optimized);
    }
  }
}

}  // namespace tessera::golden_step
