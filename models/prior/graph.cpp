// A table of a random graph: columns are assigned to nodes, every node that a column needs is computed, and converters
// read columns from the units of its node.
#include "models/prior/graph.h"

namespace tessera::prior {

double GraphDraws::number(Scalar name, double low, double high, bool log, bool to_ends) {
  Shape& shape = shapes_[static_cast<size_t>(name)];
  if (shape.a == 0) {
    const double share = d.uniform(), sum = std::exp(d.uniform(std::log(0.1), std::log(1e4)));
    shape = {share * sum, (1 - share) * sum};
  }
  double u = d.beta(shape.a, shape.b);
  if (to_ends) u = std::min(std::max(1.2 * u - 0.1, 0.0), 1.0);
  return log ? std::exp(std::log(low) + (std::log(high) - std::log(low)) * u) : low + (high - low) * u;
}

int64_t GraphDraws::whole(Scalar name, int64_t low, int64_t end, bool log) {
  const double x = std::floor(number(name, static_cast<double>(low), static_cast<double>(end), log));
  return std::min(std::max(static_cast<int64_t>(x), low), end - 1);
}

void GraphDraws::fill(Random::Kind kind, float* out, int64_t columns, int64_t n, int64_t stride) {
  draw_matrix(kind, purpose_of(Use::graph), key_, 0, next_, columns, n, stride, out);
  next_ += columns;
}

std::vector<float> GraphDraws::normals(int64_t n) {
  std::vector<float> out(static_cast<size_t>(n));
  fill(Random::normal, out.data(), n);
  return out;
}

void GraphDraws::multiply(const float* matrix, const Columns& from, int64_t outputs, Columns& to) {
  to.resize(outputs, from.rows());
  prior::multiply(matrix, from, to, work_);
}

namespace {

using Graph = std::vector<std::vector<int>>;

struct Column {
  int node = 0;
  int64_t categories = 0;  // 0: numbers
  float* to = nullptr;
};

// Numbers of categories of the features, 0 for numbers: between none and all of the features are categories, some of
// them alike.
std::vector<int64_t> category_sizes(GraphDraws& g, int64_t features) {
  constexpr int64_t kMaxCategories = 9;
  const double share = std::min(std::max(g.d.uniform(-0.5, 1.2), 0.0), 1.0);
  const int64_t categories = std::lround(static_cast<double>(features) * share);
  const double u = std::min(std::max(1.2 * g.d.uniform() - 0.1, 0.0), 1.0);
  const int64_t own = std::min(categories, static_cast<int64_t>(u * static_cast<double>(categories + 1)));
  const int64_t limit = g.whole(Scalar::category_limit, 2, kMaxCategories + 1, true) + 1;
  std::vector<int64_t> sizes(static_cast<size_t>(features), 0);
  for (int64_t j = 0; j < categories; ++j)
    sizes[static_cast<size_t>(j)] =
        j < own ? std::min(limit - 1, static_cast<int64_t>(std::exp(g.d.uniform(std::log(2.0), std::log(limit)))))
                : g.whole(Scalar::categories, 2, limit, true);
  return sizes;
}

// Nodes of `count` columns: a random part of the nodes holds them.
std::vector<int> nodes_of_columns(GraphDraws& g, int nodes, int64_t count) {
  const std::vector<int32_t> order = g.d.permutation(nodes);
  const int64_t used = g.whole(Scalar::feature_nodes, 1, nodes + 1, false);
  std::vector<int> out;
  for (int64_t j = 0; j < count; ++j) out.push_back(order[static_cast<size_t>(g.d.whole(0, used - 1))]);
  return out;
}

void add_ancestors(const Graph& parents, std::vector<uint8_t>& marked) {
  for (size_t j = parents.size(); j-- > 0;)
    if (marked[j] != 0)
      for (const int i : parents[j]) marked[static_cast<size_t>(i)] = 1;
}

// ---- converters: a column of the table from some units of its node, which they may change ------------------------
// Both converters of TabICLv2's categories: by the nearest row, or by a random draw from a softmax.
enum class Category { nearest, nearest_center, nearest_function, nearest_code, soft, soft_point, soft_code, count };

struct Converter {
  const Column* column;
  Category kind = Category::nearest;
  int64_t units = 1;
};

Converter converter_of(GraphDraws& g, const Column& column) {
  Converter c{&column};
  if (column.categories == 0) return c;
  c.kind = static_cast<Category>(g.choice(static_cast<int>(Category::count)));
  const auto n = static_cast<double>(column.categories);
  c.units = c.kind >= Category::soft || g.d.chance(0.5)
                ? column.categories
                : std::min(column.categories - 1, static_cast<int64_t>(std::exp(g.d.uniform(0, std::log(n)))));
  return c;
}

// 1 − (1 − x^a)^b of the unit scaled to [0, 1] (Kumaraswamy's distribution).
void warp(GraphDraws& g, float* x, int64_t n) {
  const auto [low, high] = std::minmax_element(x, x + n);
  const float least = *low, range = *high - *low + 1e-30f;
  const auto a = static_cast<float>(g.number(Scalar::warp_a, 0.2, 5, true)),
             b = static_cast<float>(g.number(Scalar::warp_b, 0.2, 5, true));
  for (int64_t i = 0; i < n; ++i) x[i] = std::min(std::max((x[i] - least) / range, 0.0f), 1.0f);
  powers(x, n, a, x);
  for (int64_t i = 0; i < n; ++i) x[i] = std::max(1 - x[i], 0.0f);
  powers(x, n, b, x);
  for (int64_t i = 0; i < n; ++i) x[i] = 1 - x[i];
}

std::vector<int32_t> soft_codes(GraphDraws& g, Columns x) {
  const double factor = g.number(Scalar::softmax_factor, 0.1, 10, true);
  const std::vector<float> w = random_weights(g, x.count());
  standardize(x);
  std::vector<int32_t> code(static_cast<size_t>(x.rows()));
  std::vector<double> p(static_cast<size_t>(x.count()));
  for (int64_t i = 0; i < x.rows(); ++i) {
    double top = -INFINITY;
    for (int64_t j = 0; j < x.count(); ++j) {
      const double z =
          factor * static_cast<double>(x[j][i]) + std::log(static_cast<double>(w[static_cast<size_t>(j)]) + 1e-4);
      p[static_cast<size_t>(j)] = std::isfinite(z) ? z : 0;
      top = std::max(top, p[static_cast<size_t>(j)]);
    }
    for (double& v : p) v = std::exp(v - top);
    code[static_cast<size_t>(i)] = static_cast<int32_t>(g.d.pick(p));
  }
  return code;
}

void convert_category(GraphDraws& g, const Converter& c, int64_t first, Columns& node) {
  const int64_t n = node.rows();
  Columns x, points;
  x.resize(c.units, n);
  for (int64_t j = 0; j < c.units; ++j) std::copy_n(node[first + j], n, x[j]);
  std::vector<int32_t> code;
  if (c.kind < Category::soft) {
    std::vector<int32_t> centers = g.d.permutation(n);
    centers.resize(static_cast<size_t>(std::min(n, c.column->categories)));
    code = nearest_centers(x, centers, g.number(Scalar::power, 0.5, 4, true));
    points = rows_of(x, centers);
  } else {
    if (c.kind == Category::soft_point) points = random_points(g, c.units, c.column->categories);
    code = soft_codes(g, x);
  }
  for (int64_t i = 0; i < n; ++i) c.column->to[i] = static_cast<float>(code[static_cast<size_t>(i)]);
  if (c.kind == Category::nearest || c.kind == Category::soft) return;
  const bool codes = c.kind == Category::nearest_code || c.kind == Category::soft_code;
  if (!codes) x = rows_of(points, code);
  for (int64_t j = 0; codes && j < c.units; ++j) std::copy_n(c.column->to, n, x[j]);
  if (c.kind == Category::nearest_function) x = simple_function(g, x, c.units);
  for (int64_t j = 0; j < c.units; ++j) std::copy_n(x[j], n, node[first + j]);
}

// Units of unit scale, with weights of their own, such that the mean square of a row is 1.
void weigh_units(GraphDraws& g, Columns& x) {
  standardize(x);
  const std::vector<float> w = random_weights(g, x.count());
  double squares = 0;
  for (int64_t j = 0; j < x.count(); ++j)
    for (int64_t i = 0; i < x.rows(); ++i) {
      x[j][i] *= w[static_cast<size_t>(j)];
      squares += static_cast<double>(x[j][i]) * static_cast<double>(x[j][i]);
    }
  const auto scale = static_cast<float>(1 / (std::sqrt(squares / static_cast<double>(x.rows())) + 1e-8));
  for (int64_t j = 0; j < x.count(); ++j)
    for (int64_t i = 0; i < x.rows(); ++i) x[j][i] *= scale;
}

Columns compute_node(GraphDraws& g, const std::vector<const Columns*>& parents, const std::vector<const Column*>& shown,
                     int64_t rows) {
  constexpr int64_t kMaxUnits = 31;
  std::vector<Converter> converters;
  for (const Column* c : shown) converters.push_back(converter_of(g, *c));
  int64_t units = g.whole(Scalar::units, 1, kMaxUnits + 1, true);
  for (const Converter& c : converters) units += c.units;
  Columns x = parents.empty() ? random_points(g, units, rows) : function_of_parents(g, parents, units);
  weigh_units(g, x);
  int64_t first = 0;
  for (const Converter& c : converters) {
    if (c.column->categories > 0) convert_category(g, c, first, x);
    else {
      std::copy_n(x[first], rows, c.column->to);
      if (g.d.chance(0.5)) warp(g, x[first], rows);  // the table shows the unit before, the children see it after
    }
    first += c.units;
  }
  const auto scale = static_cast<float>(g.number(Scalar::node_scale, 0.1, 10, true));
  for (int64_t j = 0; j < x.count(); ++j)
    for (int64_t i = 0; i < rows; ++i) x[j][i] *= scale;
  return x;
}

}  // namespace

Graph random_graph(Draws& d, int nodes) {
  const auto cauchy = [&] { return std::tan(3.14159265358979323846 * (d.uniform() - 0.5)); };
  const double all = cauchy();
  std::vector<double> as_child, as_parent;
  for (int j = 0; j < nodes; ++j) as_child.push_back(cauchy()), as_parent.push_back(cauchy());
  Graph parents(static_cast<size_t>(nodes));
  for (size_t j = 0; j < parents.size(); ++j)
    for (size_t i = 0; i < j; ++i)
      if (d.chance(1 / (1 + std::exp(-(all + as_child[j] + as_parent[i]))))) parents[j].push_back(static_cast<int>(i));
  return parents;
}

bool related(const Graph& parents, const std::vector<int>& x_nodes, int y_node) {
  std::vector<uint8_t> of_x(parents.size(), 0), of_y(parents.size(), 0);
  for (const int j : x_nodes) of_x[static_cast<size_t>(j)] = 1;
  of_y[static_cast<size_t>(y_node)] = 1;
  add_ancestors(parents, of_x);
  add_ancestors(parents, of_y);
  for (size_t j = 0; j < parents.size(); ++j)
    if (of_x[j] != 0 && of_y[j] != 0) return true;
  return false;
}

void draw_graph(Settings& s, const TableKey& key, Work& work) {
  GraphDraws g(key, work);
  const int64_t n = s.rows;
  work.x.resize(s.features, n);
  work.y.assign(static_cast<size_t>(n), 0);
  const std::vector<int64_t> sizes = category_sizes(g, s.features);
  Graph parents;
  std::vector<int> x_nodes;
  int y_node = 0;
  do {
    constexpr int64_t kMaxNodes = 32;
    parents = random_graph(g.d, static_cast<int>(g.whole(Scalar::nodes, 2, kMaxNodes + 1, true)));
    x_nodes = nodes_of_columns(g, static_cast<int>(parents.size()), s.features);
    y_node = nodes_of_columns(g, static_cast<int>(parents.size()), 1)[0];
  } while (!related(parents, x_nodes, y_node));

  std::vector<Column> columns;
  for (int64_t j = 0; j < s.features; ++j)
    columns.push_back({x_nodes[static_cast<size_t>(j)], sizes[static_cast<size_t>(j)], work.x[j]});
  columns.push_back({y_node, s.classes > 0 && s.imbalance == 0 ? s.classes : 0, work.y.data()});
  std::vector<std::vector<const Column*>> shown(parents.size());
  std::vector<uint8_t> needed(parents.size(), 0);
  for (const Column& c : columns) {
    shown[static_cast<size_t>(c.node)].push_back(&c);
    needed[static_cast<size_t>(c.node)] = 1;
  }
  add_ancestors(parents, needed);

  s.nodes = static_cast<int>(parents.size()), s.edges = 0;
  s.categorical = static_cast<int>(std::count_if(sizes.begin(), sizes.end(), [](int64_t k) { return k > 0; }));
  std::vector<Columns> node(parents.size());
  for (size_t j = 0; j < parents.size(); ++j) {
    s.edges += static_cast<int>(parents[j].size());
    if (needed[j] == 0) continue;
    std::vector<const Columns*> of;
    for (const int i : parents[j]) of.push_back(&node[static_cast<size_t>(i)]);
    node[j] = compute_node(g, of, shown[j], n);
  }
}

}  // namespace tessera::prior
