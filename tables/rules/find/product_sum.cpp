// Sums in which one term is a product of two columns, or two terms are products with a common column: total = price *
// quantity + shipping, pay = wage * hours + 1.5 * wage * overtime. The residual of a column given all others is
// compared with the residual of each product; terms that do not improve the fit are dropped.
#include <algorithm>
#include <cmath>

#include "tables/kinds/kind.h"
#include "tables/rules/find/regression.h"
#include "tables/rules/find/sum_text.h"
#include "tables/rules/rule/columns.h"
#include "tables/table/decimals.h"

namespace tessera {
namespace {

constexpr size_t kMaxProductFactors = 16, kMaxProductRows = 512;  // the work grows with columns⁴ · rows
constexpr size_t kMaxProductTerms = 6;
constexpr int kMaxFailed = 6;  // sums that explain a column in the sample, but not in all rows

struct Product {
  int a, b;
  Centred x;
  bool has(int column) const { return a == column || b == column; }
};

class ProductSums {
 public:
  ProductSums(const RuleSearch& search, Sample sample) : search_(search), sample_(std::move(sample)) {
    limit_rows(sample_, kMaxProductRows);
    std::erase_if(sample_.columns, [&](const Centred& c) { return !is_quantity(search.column(c.column)); });
    if (sample_.columns.size() > kMaxProductFactors)
      std::erase_if(sample_.columns, [&](const Centred& c) {
        return std::ranges::any_of(search.computed, [&](const auto& known) { return known.first == c.column; });
      });
    if (sample_.columns.size() > kMaxProductFactors) return;
    for (const Centred& a : sample_.columns)
      for (const Centred& b : sample_.columns)
        if (a.column < b.column && search.has_enough_for(2, {a.column, b.column})) {
          std::vector<double> x;
          for (size_t i = 0; i < a.x.size(); ++i) x.push_back((a.x[i] + a.mean) * (b.x[i] + b.mean));
          products_.push_back({a.column, b.column, centred(-1, std::move(x))});
        }
  }

  // Of totals and parts the later column is computed, and a column of few values only where no other one is.
  std::optional<FoundRule> find() const {
    std::optional<FoundRule> few;
    for (auto c = sample_.columns.rbegin(); c != sample_.columns.rend() && !products_.empty(); ++c)
      if (auto found = sum_of(*c)) {
        size_t own = 0, most = 0;
        for (const std::string& name : found->rule->columns(search_.table)) {
          const size_t values = distinct_of(search_.numbers_of(place_of(search_.table, name), search_.proposing));
          own = most == 0 ? values : own, most = std::max(most, values);  // the computed column is the first
        }
        if (!RuleSearch::are_few(own, most)) return found;
        if (!few) few = std::move(found);
      }
    return few;
  }

 private:
  using Products = std::vector<const Product*>;

  // Whether a column may be an input of the target: it is not computed from it.
  bool may_give(int column, const Centred& target) const {
    return column != target.column && search_.may_give(target.column, {column});
  }

  bool explained(double left, const Centred& c) const {
    const double half = half_unit(search_.column(c.column));
    return left <= std::max(kRounding * half, kExact * c.deviation);
  }

  std::optional<FoundRule> sum_of(const Centred& target) const {
    if (target.deviation < 10 * half_unit(search_.column(target.column))) return {};
    Regression others(sample_.rows.size());
    for (const Centred& c : sample_.columns) {
      if (!may_give(c.column, target)) continue;
      if (auto rest = others.residual(c); !others.exact(rest, c)) others.add(std::move(rest));
    }
    const Regression::Residual whole = others.residual(target);
    if (explained(whole.deviation, target)) return {};  // a sum of columns, or as good as one
    Products of;
    std::vector<std::vector<double>> rest;  // of each product
    for (const Product& p : products_) {
      if (!may_give(p.a, target) || !may_give(p.b, target)) continue;
      Regression::Residual own = others.residual(p.x);
      if (own.deviation > 1e-6 * p.x.deviation) of.push_back(&p), rest.push_back(std::move(own.rest));
    }
    const auto n = static_cast<double>(sample_.rows.size());
    const auto left_of = [](std::vector<double> x, const std::vector<double>& by) {
      const double factor = dot(x, by) / dot(by, by);
      for (size_t i = 0; i < x.size(); ++i) x[i] -= factor * by[i];
      return x;
    };
    const auto deviation = [&](const std::vector<double>& x) { return std::sqrt(dot(x, x) / n); };
    int failed = 0;
    for (size_t k = 0; k < of.size(); ++k) {
      const std::vector<double> left = left_of(whole.rest, rest[k]);
      if (explained(deviation(left), target))
        if (auto found = tried(target, {of[k]}); found || ++failed == kMaxFailed) return found;
      for (size_t l = 0; l < k; ++l) {
        if (!of[k]->has(of[l]->a) && !of[k]->has(of[l]->b)) continue;
        const std::vector<double> second = left_of(rest[l], rest[k]);
        if (deviation(second) <= 1e-6 * of[l]->x.deviation || !explained(deviation(left_of(left, second)), target))
          continue;
        if (auto found = tried(target, {of[l], of[k]}); found || ++failed == kMaxFailed) return found;
      }
    }
    return {};
  }

  // The sum of all other columns and these products, without the terms that it does not need.
  std::optional<FoundRule> tried(const Centred& target, const Products& products) const {
    std::vector<const Centred*> columns;
    std::vector<Term> terms;
    for (const Product* p : products) columns.push_back(&p->x), terms.push_back({p->a, 0, p->b});
    Regression known(sample_.rows.size());
    for (const Centred& c : sample_.columns) {
      if (!may_give(c.column, target)) continue;
      auto own = known.residual(c);
      if (known.exact(own, c)) continue;  // a sum of those before it
      known.add(std::move(own));
      columns.push_back(&c), terms.push_back({c.column, 0});
    }
    std::vector<double> factors;
    const auto solve = [&](const std::vector<const Centred*>& by) {
      Regression r(sample_.rows.size());
      for (const Centred* c : by) {
        auto own = r.residual(*c);
        if (r.exact(own, *c)) return false;
        r.add(std::move(own));
      }
      const Regression::Residual rest = r.residual(target);
      factors = r.factors(rest.along);
      return explained(rest.deviation, target);
    };
    for (size_t k = columns.size(); k-- > products.size();) {
      std::vector<const Centred*> fewer = columns;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      if (!solve(fewer)) continue;
      columns = std::move(fewer);
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (columns.size() > kMaxProductTerms || !solve(columns)) return {};
    const double half = std::max(half_unit(search_.column(target.column)), kExact * target.deviation);
    std::vector<int> places{target.column};
    for (const Term& t : terms) {
      places.push_back(t.column);
      if (t.times >= 0) places.push_back(t.times);
    }
    const int64_t least = search_.holders.least(search_.columns_at(places));
    if (!search_.has_enough_for(terms.size() + 1, {places.begin() + 1, places.end()})) return {};
    if (!has_shared_factors(search_, sample_, columns, factors, least, 0.1 * half)) return {};
    for (const double deviations : {60, 6})  // factors of columns that are much alike are less sure
      if (auto found = rounded_to(target, columns, factors, terms, deviations)) return found;
    return {};
  }

  // The rule with factors rounded within that many of the deviations that rounding errors give them.
  std::optional<FoundRule> rounded_to(const Centred& target, const std::vector<const Centred*>& columns,
                                      const std::vector<double>& factors, std::vector<Term> terms,
                                      double deviations) const {
    const double half = std::max(half_unit(search_.column(target.column)), kExact * target.deviation);
    const double sure = deviations * 0.6 / std::sqrt(static_cast<double>(sample_.rows.size()));
    double constant = target.mean;
    for (size_t k = 0; k < columns.size(); ++k) {
      terms[k].factor = short_number(factors[k], sure * half / columns[k]->deviation);
      constant -= terms[k].factor * columns[k]->mean;
    }
    constant = short_number(constant, std::max(0.4 * half, 1e-9 * std::abs(target.mean)));
    for (const int factor : {terms[0].column, terms[0].times})
      if (constant == 0 && is_quotient(target.column, terms, factor)) return {};
    return computed_rule(search_, {target.column, sum_text(search_, terms, constant, false)},
                         static_cast<double>(products_.size() * products_.size()));
  }

  // Whether the sum factor · (…) is really a rounded quotient: ratio = b / (a + 1) implies b = a * ratio + ratio up to
  // rounding, but the ratio could not be recomputed from sampled a and ratio.
  bool is_quotient(int target, const std::vector<Term>& terms, int factor) const {
    std::vector<std::vector<double>> other;  // of the sample's rows; empty: 1
    for (const Term& t : terms) {
      if (t.column != factor && t.times != factor) return false;
      const int rest = t.times < 0 ? -1 : t.column == factor ? t.times : t.column;
      other.push_back(rest < 0 ? std::vector<double>() : search_.numbers_of(rest, sample_.rows));
    }
    const Column &of = search_.column(factor), &sum = search_.column(target);
    if (digits_of(of) == kAllDigits || digits_of(sum) == kAllDigits) return false;
    const size_t n = sample_.rows.size();
    const std::vector<double> all = search_.numbers_of(factor, sample_.rows);
    const auto given_back = [&](size_t shift) {
      size_t back = 0;
      for (size_t i = 0; i < n; ++i) {
        double rest = 0;
        for (size_t k = 0; k < terms.size(); ++k) rest += terms[k].factor * (other[k].empty() ? 1 : other[k][i]);
        const double x = all[(i + shift) % n];
        const double product = round_decimals(x * rest, digits_of(sum));
        back += std::abs(product / rest - x) <= half_unit(of) * (1 + 1e-9) ? 1 : 0;
      }
      return static_cast<double>(back) >= 0.9 * static_cast<double>(n);
    };
    return given_back(0) && !given_back(1);
  }

  const RuleSearch& search_;
  Sample sample_;
  std::vector<Product> products_;
};

}  // namespace

std::optional<FoundRule> find_product_sum(const RuleSearch& search) {
  return ProductSums(search, sample_with(search, -1)).find();
}

}  // namespace tessera
