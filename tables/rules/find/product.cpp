// Columns that are products of powers of others, rounded: total = price * quantity, mean = total / count, net = price *
// quantity * (1 - discount / 100), bmi = 10000 * weight / height / height.
//
// The logarithm of such a product is a sum. Orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993) selects
// the factor that explains most of the residual until only rounding remains; exponents are then whole numbers, and the
// product is tested on every row. The share by which one number is more or less than another is no such product.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "tables/kinds/kind.h"
#include "tables/kinds/number_writer.h"
#include "tables/rules/find/factors.h"
#include "tables/rules/find/search.h"
#include "tables/rules/kinds/computed.h"
#include "tables/rules/rule/columns.h"

namespace tessera {
namespace {

constexpr size_t kMaxFactorColumns = 200;  // the work grows with their square
constexpr size_t kMaxRows = 512, kMinPreciseRows = 30;
constexpr size_t kMaxFactors = 4;
constexpr size_t kTakenAnyway = 2;  // factors that turn out to have no part
constexpr int kAttempts = 6;        // each without a factor that the one before took
constexpr double kMaxExponent = 3;
constexpr double kWhole = 0.02;      // max distance of an exponent from a whole number
constexpr int kMinUnits = 20;        // distinct values of the target: few are the product of many factors
constexpr double kPreciseUnits = 5;  // units of its last digit that a value has in the logarithms' rows
constexpr int kMaxDigits = 9;
constexpr size_t kMaxConstants = 6;  // are tried
constexpr double kExactLogs = 1e-7;  // of logarithms: residual of numbers that are not rounded

// A column, or the share that it leaves or adds.
enum class Form { itself, rest_of_1, rest_of_100, more_than_1, more_than_100 };

double value_of(Form form, double x) {
  switch (form) {
    case Form::itself: return x;
    case Form::rest_of_1: return 1 - x;
    case Form::rest_of_100: return 1 - x / 100;
    case Form::more_than_1: return 1 + x;
    case Form::more_than_100: return 1 + x / 100;
  }
  return x;
}

struct Numbers {
  int column;
  double half, least, most;  // of a unit of the last digit; of all values
  size_t distinct;
  std::vector<double> x;  // of proposing rows
  bool misses_few = false;
};

struct Factor {
  const Numbers* numbers;
  Form form;
  std::vector<double> logs;  // centred, of length 1
  double norm = 0;           // before
};

void centre(std::vector<double>& x) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  for (double& v : x) v -= mean;
}

// A factor that does not vary: the number, or one over it.
struct Constant {
  double number;
  bool divides;
};

std::vector<Constant> constants_between(double low, double high) {
  std::vector<Constant> out;
  if (!(low <= high && low * high > 0)) return out;
  for (int digits = -kMaxDigits; digits <= kMaxDigits && out.size() < kMaxConstants; ++digits)
    for (const bool divides : {false, true}) {
      const double from = divides ? 1 / high : low, to = divides ? 1 / low : high;
      const double tens = std::pow(10.0, std::abs(digits));
      const double whole = std::ceil(digits < 0 ? from / tens : from * tens);
      const double number = digits < 0 ? whole * tens : whole / tens;
      const auto same = [&](const Constant& c) {
        return std::abs((c.divides ? 1 / c.number : c.number) * (divides ? number : 1 / number) - 1) < 1e-12;
      };
      if (number >= from && number <= to && number != 0 && std::none_of(out.begin(), out.end(), same))
        out.push_back({number, divides});
    }
  return out;
}

// Logarithms of the target, in the rows that determine it precisely, and of its possible factors.
class Logarithms {
 public:
  Logarithms(const RuleSearch& search, const std::vector<Numbers>& all, const Numbers& target) : target_(target) {
    std::vector<const Numbers*> often;
    for (const Numbers& n : all)
      if (n.misses_few) often.push_back(&n);
    rows_ = precise_rows(often);
    if (rows_.size() < kMinPreciseRows && !often.empty()) rows_ = precise_rows({});
    if (rows_.size() < kMinPreciseRows) return;
    for (const size_t i : rows_) {
      logs_.push_back(std::log(std::abs(target.x[i])));
      allowed_ += std::pow(target.half / target.x[i], 2) / 3;  // variance of an evenly distributed rounding error
    }
    centre(logs_);
    // twice the expectation, because rows vary
    allowed_ = 2 * allowed_ + std::pow(kExactLogs, 2) * static_cast<double>(rows_.size());
    if (dot(logs_, logs_) <= 100 * allowed_) return;
    for (const Numbers& n : all)
      if (&n != &target && search.may_give(target.column, {n.column})) offer_forms(n);
  }

  // The factors selected by the pursuit, without the `banned` ones, by size of their contribution; empty if a residual
  // remains.
  struct Product {
    std::vector<const Factor*> factors;
    std::vector<int> exponents;
    const Factor* suspect = nullptr;  // to be omitted next; null: no factor was selected
  };
  Product pursue(const std::vector<const Factor*>& banned, size_t most_taken) const {
    Product out;
    std::vector<const Factor*> taken;
    std::vector<std::vector<double>> basis, triangle;
    std::vector<double> rest = logs_, along;
    while (taken.size() < most_taken && dot(rest, rest) > allowed_) {
      const Factor* best = nullptr;
      double most = 0;
      for (const Factor& f : factors_) {
        if (std::find(banned.begin(), banned.end(), &f) != banned.end()) continue;
        // of the forms of a column of two values, which are the same here, the first
        if (const double part = std::abs(dot(f.logs, rest)); part > most * (1 + 1e-9)) best = &f, most = part;
      }
      if (best == nullptr || std::find(taken.begin(), taken.end(), best) != taken.end()) return out;
      std::vector<double> direction = best->logs, parts;
      for (const auto& b : basis) {
        parts.push_back(dot(b, direction));
        for (size_t i = 0; i < direction.size(); ++i) direction[i] -= parts.back() * b[i];
      }
      const double norm = std::sqrt(dot(direction, direction));
      if (norm < 1e-6) return out;
      for (double& v : direction) v /= norm;
      parts.push_back(norm);
      along.push_back(dot(direction, rest));
      for (size_t i = 0; i < rest.size(); ++i) rest[i] -= along.back() * direction[i];
      basis.push_back(std::move(direction)), triangle.push_back(std::move(parts));
      taken.push_back(best);
      if (out.suspect == nullptr) out.suspect = best;
    }
    if (taken.empty() || dot(rest, rest) > allowed_) return out;
    for (size_t k = taken.size(); k-- > 0;) {
      along[k] /= triangle[k][k];
      for (size_t i = 0; i < k; ++i) along[i] -= along[k] * triangle[k][i];
    }
    round_exponents(taken, along, out);
    return out;
  }

  // Constant factors that reproduce every value up to rounding, fewest digits first.
  std::vector<Constant> constants(const Product& product) const {
    double low = -INFINITY, high = INFINITY;
    for (size_t i = 0; i < target_.x.size(); ++i) {
      double x = 1;
      for (size_t k = 0; k < product.factors.size(); ++k)
        x *= std::pow(value_of(product.factors[k]->form, product.factors[k]->numbers->x[i]), product.exponents[k]);
      // a half is rounded up by some and down by others, as same_number() takes it
      const double t = target_.x[i], half = std::max((1 + 1e-7) * target_.half, 1e-12 * std::abs(t));
      if (!(std::abs(x) > 0 && std::abs(x) < INFINITY) || t != t) continue;
      low = std::max(low, std::min((t - half) / x, (t + half) / x));
      high = std::min(high, std::max((t - half) / x, (t + half) / x));
    }
    return constants_between(low, high);
  }

 private:
  // Only rows in which all of these columns are present.
  std::vector<size_t> precise_rows(const std::vector<const Numbers*>& present) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < target_.x.size() && out.size() < kMaxRows; ++i)
      if (std::abs(target_.x[i]) > 2 * kPreciseUnits * target_.half &&
          std::all_of(present.begin(), present.end(), [=](const Numbers* n) { return n->x[i] == n->x[i]; }))
        out.push_back(i);
    return out;
  }

  void offer_forms(const Numbers& n) {
    offer(n, Form::itself);
    if (n.least < 0 || n.most <= 0) return;
    if (n.most <= 1) offer(n, Form::rest_of_1), offer(n, Form::more_than_1);
    else if (n.most <= 100) offer(n, Form::rest_of_100), offer(n, Form::more_than_100);
  }

  void offer(const Numbers& n, Form form) {
    Factor f{&n, form, {}};
    for (const size_t i : rows_) {
      const double x = value_of(form, n.x[i]);
      if (!(std::abs(x) > 1e-9)) return;  // where it is 0 or missing, the product would be
      f.logs.push_back(std::log(std::abs(x)));
    }
    centre(f.logs);
    f.norm = std::sqrt(dot(f.logs, f.logs));
    if (f.norm < 1e-6) return;
    for (double& v : f.logs) v /= f.norm;
    factors_.push_back(std::move(f));
  }

  // Rounds exponents to whole numbers and drops zeros.
  static void round_exponents(const std::vector<const Factor*>& taken, const std::vector<double>& parts, Product& out) {
    std::vector<std::pair<const Factor*, int>> whole;
    double worst = kWhole;
    for (size_t k = 0; k < taken.size(); ++k) {
      const double exponent = parts[k] / taken[k]->norm;
      const double nearest = std::clamp(std::nearbyint(exponent), -kMaxExponent, kMaxExponent);
      if (const double off = std::abs(exponent - nearest); off > worst) out.suspect = taken[k], worst = off;
      if (nearest != 0) whole.emplace_back(taken[k], static_cast<int>(nearest));
    }
    if (worst > kWhole || whole.size() > kMaxFactors) return;
    // in the order of the table, numerators first
    std::sort(whole.begin(), whole.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second < 0, a.first->numbers->column) < std::pair(b.second < 0, b.first->numbers->column);
    });
    for (const auto& [factor, exponent] : whole) out.factors.push_back(factor), out.exponents.push_back(exponent);
  }

  const Numbers& target_;
  std::vector<size_t> rows_;
  std::vector<double> logs_;
  double allowed_ = 0;  // sum of squares that rounding leaves
  std::vector<Factor> factors_;
};

std::string text_of(const RuleSearch& search, const Factor& f) {
  const std::string name = search.name_of(f.numbers->column);
  switch (f.form) {
    case Form::itself: return name;
    case Form::rest_of_1: return fmt::format("(1 - {})", name);
    case Form::rest_of_100: return fmt::format("(1 - {} / 100)", name);
    case Form::more_than_1: return fmt::format("(1 + {})", name);
    case Form::more_than_100: return fmt::format("(1 + {} / 100)", name);
  }
  return name;
}

// "net * rate / 100", "10000 * weight / height / height".
std::string text_of_product(const RuleSearch& search, const Logarithms::Product& product, const Constant& constant) {
  std::string out = constant.number == 1 || constant.divides ? "" : fmt::format("{}", constant.number);
  for (size_t k = 0; k < product.factors.size(); ++k)
    for (int times = 0; times < std::abs(product.exponents[k]); ++times) {
      if (product.exponents[k] < 0 && out.empty()) out = "1";
      if (!out.empty()) out += product.exponents[k] < 0 ? " / " : " * ";
      out += text_of(search, *product.factors[k]);
    }
  return constant.divides ? fmt::format("{} / {}", out, constant.number) : out;
}

std::vector<Numbers> possible_factors(const RuleSearch& search) {
  std::vector<Numbers> out;
  for (int j = 0; j < static_cast<int>(search.columns()) && out.size() < kMaxFactorColumns; ++j) {
    const Column& c = search.column(j);
    if (!search.usable(j) || !is_quantity(c)) continue;
    Numbers n{j, half_unit(c), INFINITY, -INFINITY, 0, {}, !search.blank_is_0(j) && search.misses_few(c)};
    n.x = search.numbers_of(j, search.proposing);
    for (const double x : n.x) n.least = std::fmin(n.least, x), n.most = std::fmax(n.most, x);
    n.distinct = distinct_of(n.x);
    if (n.distinct >= 2) out.push_back(std::move(n));
  }
  return out;
}

struct Found {
  FoundRule rule;
  std::vector<int> of;  // columns
  bool divides;
};

// A constant that people write, such as 3.6 or 25.4: sums are found later, so 1.00531 * a may be a + 4.
bool is_plain(double x) {
  constexpr int kDigits = 3;
  const double tens = std::pow(10.0, kDigits - 1 - std::floor(std::log10(std::abs(x))));
  return std::abs(std::nearbyint(x * tens) / tens - x) <= 1e-12 * std::abs(x);
}

std::optional<Found> product_of(const RuleSearch& search, const std::vector<Numbers>& all, const Numbers& target,
                                size_t most_taken) {
  const Logarithms logarithms(search, all, target);
  std::vector<const Factor*> banned;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Logarithms::Product product = logarithms.pursue(banned, most_taken);
    if (product.suspect == nullptr) return {};
    banned.push_back(product.suspect);
    if (product.factors.empty()) continue;
    const double tried = std::pow(static_cast<double>(3 * all.size()), static_cast<double>(product.factors.size()) + 1);
    for (const Constant& constant : logarithms.constants(product)) {
      if (most_taken == 1 && !is_plain(constant.number)) continue;
      auto rule = computed_rule(search, {target.column, text_of_product(search, product, constant)}, tried);
      if (!rule) continue;
      Found out{std::move(*rule), {}, product.exponents.back() < 0};
      // a ratio of two columns stays a ratio, though the columns may be sampled the other way round
      for (const double whole : {1.0, 100.0})
        if (product.factors.size() > 1 && out.divides && out.rule.check.empty() && constant.number == whole &&
            target.most <= whole && target.least >= 0 && search.options.by_rejection)
          out.rule.check = fmt::format("{} <= {}", quoted_name(search.column(target.column).name), whole);
      for (const Factor* f : product.factors) out.of.push_back(f->numbers->column);
      return out;
    }
  }
  return {};
}

// How much more or less than another number one is, as a share or in percent: change = 100 * (new - old) / old. Pairs
// of columns are tried one by one, as the first rows refute nearly all of them.
std::optional<Found> change_of(const RuleSearch& search, const std::vector<Numbers>& all, const Numbers& target) {
  struct Way {
    double whole, sign;  // 100 for percent; −1: how much less
  };
  const auto tried = static_cast<double>(4 * all.size() * all.size());
  const auto fits = [&](const Numbers& of, const Numbers& base, const Way& way) {
    constexpr size_t kFirst = 256;  // rows, of which one has all three numbers
    size_t rows = 0, complete = 0;
    for (size_t i = 0; i < target.x.size() && rows < kMaxRows && (i < kFirst || complete > 0); ++i) {
      const double t = target.x[i], by = way.whole * way.sign * (of.x[i] - base.x[i]) / base.x[i];
      if (!std::isfinite(t) || !std::isfinite(by)) continue;
      ++complete;
      if (std::abs(t - by) > (1 + 1e-7) * target.half + 1e-9 * std::abs(t)) return false;
      rows += t != 0;
    }
    return rows >= kMinPreciseRows;
  };
  for (const Way& way : {Way{100, 1}, Way{100, -1}, Way{1, 1}, Way{1, -1}}) {
    if (way.sign < 0 ? target.most > way.whole : target.least < -way.whole) continue;
    if (way.whole == 1 && !has_fractions(search.column(target.column))) continue;  // a share of whole numbers
    for (const Numbers& base : all)
      for (const Numbers& of : all) {
        if (&of == &base || &of == &target || &base == &target || !fits(of, base, way)) continue;
        const std::string name = search.name_of(of.column), from = search.name_of(base.column);
        const std::string difference = way.sign > 0 ? name + " - " + from : from + " - " + name;
        auto rule = computed_rule(
            search,
            {target.column,
             fmt::format("{}({}) / {}", way.whole == 1 ? "" : fmt::format("{} * ", way.whole), difference, from)},
            tried);
        if (rule) return Found{std::move(*rule), {of.column, base.column}, true};
      }
  }
  return {};
}

// Whether values computed by `f` from cells of different rows satisfy `g` too. Successes, a whole number, are share *
// tries up to rounding; but for most sampled shares, successes / tries is not that share.
bool keeps(const RuleSearch& search, const Found& f, const Found& g) {
  constexpr int64_t kTries = 200;
  constexpr double kKept = 0.9;
  const Column& target = search.column(place_of(search.table, f.rule.rule->column()));
  Table mixed;
  mixed.rows = std::min(kTries, static_cast<int64_t>(search.testing.size()));
  for (const int j : f.of) {
    Column& c = mixed.columns.emplace_back(head_of(search.column(j)));
    for (int64_t i = 0; i < mixed.rows; ++i) {
      const size_t from = static_cast<size_t>(i) + 7 * mixed.columns.size();  // another row for each column
      c.numbers.push_back(search.column(j).numbers[static_cast<size_t>(search.testing[from % search.testing.size()])]);
    }
  }
  const auto computed = [&](const Found& by, const Column& head) {
    const Arithmetic expression = parse_arithmetic(by.rule.rule->expression(), mixed, "a rule");
    Column out = head_of(head);
    for (size_t i = 0; i < static_cast<size_t>(mixed.rows); ++i)
      out.numbers.push_back(rounded(exact_value(expression, mixed, i, head), digits_of(head)));
    return out;
  };
  mixed.columns.push_back(computed(f, target));
  const int other = place_of(mixed, g.rule.rule->column());
  const Column again = computed(g, mixed.columns[static_cast<size_t>(other)]);
  double said = 0, kept = 0;
  for (size_t i = 0; i < again.numbers.size(); ++i) {
    const double x = mixed.columns[static_cast<size_t>(other)].numbers[i];
    if (x == x && again.numbers[i] == again.numbers[i]) ++said, kept += same_number(x, again.numbers[i], again);
  }
  return kept >= kKept * said;
}

// Whether another rule computes an input of f from the target of f and preserves f, although f does not preserve it.
bool loses(const RuleSearch& search, const std::vector<Found>& all, const Found& f) {
  const int target = place_of(search.table, f.rule.rule->column());
  return std::any_of(all.begin(), all.end(), [&](const Found& g) {
    const int other = place_of(search.table, g.rule.rule->column());
    const auto has = [](const std::vector<int>& of, int column) {
      return std::find(of.begin(), of.end(), column) != of.end();
    };
    return f.of.size() == 2 && g.of.size() == 2 && has(g.of, target) && has(f.of, other) &&
           std::all_of(g.of.begin(), g.of.end(), [&](int j) { return j == target || has(f.of, j); }) &&
           !keeps(search, f, g) && keeps(search, g, f);
  });
}

// The surest of those found.
std::optional<FoundRule> find_products(const RuleSearch& search, size_t most_taken) {
  const std::vector<Numbers> all = possible_factors(search);
  std::vector<Found> found;
  std::vector<int> needed, multiplied;  // by other rules; by rules that do not divide
  for (const Numbers& target : all) {
    if (target.distinct < kMinUnits) continue;
    auto product = product_of(search, all, target, most_taken);
    if (!product && most_taken > 1) product = change_of(search, all, target);
    if (!product) continue;
    needed.insert(needed.end(), product->of.begin(), product->of.end());
    if (!product->divides) multiplied.insert(multiplied.end(), product->of.begin(), product->of.end());
    found.push_back(std::move(*product));
  }
  if (found.empty()) return {};
  // Products come before quotients: of a product rounded to cents, each factor is a quotient only up to its digits. If
  // two columns determine each other, the later one is computed. Inputs of other rules come last: of net, gross and
  // paid, paid first, although the price is paid / rest.
  const auto order = [&](const Found& f) {
    const int target = place_of(search.table, f.rule.rule->column());
    const bool backwards = f.of.size() == 1 && f.of.front() > target;
    const auto in = [=](const std::vector<int>& of) { return std::find(of.begin(), of.end(), target) != of.end(); };
    return std::tuple(loses(search, found, f), f.divides, backwards, in(multiplied), in(needed));
  };
  std::vector<decltype(order(found.front()))> orders;
  for (const Found& f : found) orders.push_back(order(f));
  return found[static_cast<size_t>(std::min_element(orders.begin(), orders.end()) - orders.begin())].rule;
}

}  // namespace

bool is_product_of_others(const RuleSearch& search, int column, const std::vector<int>& but) {
  std::vector<Numbers> all = possible_factors(search);
  std::erase_if(all, [&](const Numbers& n) { return std::find(but.begin(), but.end(), n.column) != but.end(); });
  const auto target = std::find_if(all.begin(), all.end(), [&](const Numbers& n) { return n.column == column; });
  if (target == all.end() || target->distinct < kMinUnits) return false;
  const auto product = product_of(search, all, *target, kMaxFactors + kTakenAnyway);
  return product && !product->divides;  // of net = total / (1 + rate / 100), the total is computed
}

std::optional<FoundRule> find_multiple(const RuleSearch& search) { return find_products(search, 1); }

std::optional<FoundRule> find_product(const RuleSearch& search) {
  return find_products(search, kMaxFactors + kTakenAnyway);
}

}  // namespace tessera
