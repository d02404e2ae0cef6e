// Tables that keep rules, and tables that keep none.
#pragma once
#include <nlohmann/json.hpp>

#include "models/tables.h"
#include "tables/rules/rules.h"

namespace tessera::whole {

using Texts = std::vector<std::string>;

inline double cents(double x) { return std::nearbyint(x * 100) / 100; }
inline double between(int64_t row, uint32_t stream, double low, double high) {
  return low + (high - low) * uniform(row, stream);
}
inline double whole_between(int64_t row, uint32_t stream, double low, double high) {
  return std::floor(between(row, stream, low, high + 1));
}

// Orders: end >= start, total = items + extras, price = 3.99 * items, amount = rate * items rounded to cents, country,
// city and state of six kinds, delivered missing where they are open, fees multiples of 25.
inline Table orders(int64_t rows) {
  const std::vector<std::vector<std::string>> places{{"USA", "Boston", "MA"},     {"USA", "Austin", "TX"},
                                                     {"Germany", "Berlin", "BE"}, {"Germany", "Hamburg", "HH"},
                                                     {"Japan", "Tokyo", "13"},    {"Japan", "Osaka", "27"}};
  const auto place = [&](int64_t i, size_t part) { return places[static_cast<size_t>(6 * uniform(i, 1))][part]; };
  const auto start = [](int64_t i) { return 18000 + whole_between(i, 2, 0, 999); };
  const auto items = [](int64_t i) { return whole_between(i, 3, 1, 99); };
  const auto extras = [](int64_t i) { return whole_between(i, 4, 1, 49); };
  const auto rate = [](int64_t i) { return std::nearbyint(between(i, 5, 1, 9) * 1000) / 1000; };
  const auto open = [](int64_t i) { return uniform(i, 6) < 0.3; };
  return table(
      {dates_by("start", rows, start),
       dates_by("end", rows, [&](int64_t i) { return start(i) + whole_between(i, 7, 0, 30); }),
       whole_by("items", rows, items), whole_by("total", rows, [&](int64_t i) { return items(i) + extras(i); }),
       whole_by("extras", rows, extras),
       decimals_by("price", rows, 2, [&](int64_t i) { return cents(3.99 * items(i)); }),
       decimals_by("rate", rows, 3, rate),
       decimals_by("amount", rows, 2, [&](int64_t i) { return cents(rate(i) * items(i)); }),
       texts_by("country", rows, [&](int64_t i) { return place(i, 0); }),
       texts_by("city", rows, [&](int64_t i) { return place(i, 1); }),
       texts_by("state", rows, [&](int64_t i) { return place(i, 2); }),
       texts_by("status", rows, [&](int64_t i) { return open(i)               ? "open"
                                                        : uniform(i, 8) < 0.5 ? "sent"
                                                                              : "back"; }),
       decimals_by("delivered", rows, 1,
                   [&](int64_t i) { return open(i) ? kMissing : std::nearbyint(between(i, 9, 0, 90) * 10) / 10; }),
       whole_by("fee", rows, [](int64_t i) { return 25 * whole_between(i, 10, 4, 80); })});
}

// Columns of every kind that have nothing to do with each other.
inline Table random_table(uint32_t seed, int64_t rows) {
  const auto u = [seed](int64_t i, uint32_t k) { return uniform(i + 100'000 * (seed + 1), k); };
  std::vector<Column> columns;
  for (uint32_t k = 0; k < 4; ++k) {
    columns.push_back(whole_by("integer " + std::to_string(k), rows, [&, k](int64_t i) {
      return u(i, 10 + k) < 0.1 * k ? kMissing : std::floor(u(i, 20 + k) * (3 + 30 * k * k));
    }));
    columns.push_back(decimals_by("decimal " + std::to_string(k), rows, 2, [&, k](int64_t i) {
      return u(i, 30 + k) < 0.05 * k ? kMissing : std::nearbyint(-std::log(u(i, 40 + k)) * 1000) / 100;
    }));
    columns.push_back(dates_by("date " + std::to_string(k), rows,
                               [&, k](int64_t i) { return 18000 + std::floor(u(i, 50 + k) * 700); }));
    columns.push_back(texts_by("text " + std::to_string(k), rows, [&, k](int64_t i) {
      const double v = u(i, 60 + k);
      return u(i, 70 + k) < 0.08 * k ? std::string() : "v" + std::to_string(static_cast<int>(v * v * (2 + 12 * k)));
    }));
  }
  return table(std::move(columns));
}

// The rules of a table, which is reduced by them.
inline Rules reduced(Table& table, RuleOptions options = {}) {
  options.find = true;
  Team team(1);
  return Rules::find(table, options, team, Monitor{});
}
inline Rules found(Table table, const RuleOptions& options = {}) { return reduced(table, options); }

inline void expect_restored(const Rules& rules, Table learned, const Table& real) {
  rules.restore(learned);
  EXPECT_EQ(lines(learned), lines(real));
}
// Rules reduce another table as they did the one that they were found in.
inline void expect_reduces_again(const Rules& rules, const Table& real) {
  Team team(1);
  Table again = real;
  rules.reduce(again, team);
  expect_restored(rules, std::move(again), real);
}

inline Texts said(const Rules& rules) {
  Texts out;
  for (const nlohmann::json& rule : rules.describe()) out.push_back(rule["rule"]);
  std::sort(out.begin(), out.end());
  return out;
}

// That the rules of a table have these among them.
inline void expect_among(const Texts& rules, const Texts& wanted) {
  for (const std::string& rule : wanted)
    EXPECT_EQ(std::ranges::count(rules, rule), 1) << rule << " of " << testing::PrintToString(rules);
}

// Rules of which one has another value of a key, or none of it, are not read, or do not fit the table that they
// reduced.
inline void expect_refused(const nlohmann::json& good, size_t rule, const std::string& key, const nlohmann::json& value,
                           const Table& learned) {
  nlohmann::json bad = good;
  if (value.is_null()) bad["found"][rule].erase(key);
  else bad["found"][rule][key] = value;
  const Thrown e = thrown([&] { Rules::from_json(bad).check_fits(learned); });
  EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(ErrorCode::format)) << key << ": " << e.message;
}

}  // namespace tessera::whole
