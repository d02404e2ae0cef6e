// What rules store of a table, of every kind of rule: neither a text nor a number of fewer rows, or keys of sequences,
// than protection asks for. Each case plants something in the rows of four of them that would be in a rule if rows were
// only required to keep it.
#include <functional>
#include <set>

#include "rules/orders.h"
#include "tables/expression/arithmetic.h"
#include "tables/rules/kinds/kinds.h"
#include "tables/rules/rule/columns.h"

namespace tessera::whole {
namespace {

using Columns = std::vector<Column>;

constexpr int64_t kStoredRows = 1000, kRowsPerKey = 10;

// Rows of a table, and who holds something planted: nobody, four holders, or a fifth of them.
struct Planting {
  enum class By { nobody, four, many };
  bool keyed;
  By by;
  std::vector<int64_t> rows;

  Planting(bool with_key, By who, bool omitted = false) : keyed(with_key), by(who) {
    for (int64_t i = 0; i < kStoredRows; ++i)
      if (!omitted || !at(i)) rows.push_back(i);
  }
  int64_t holder(int64_t i) const { return keyed ? i / kRowsPerKey : i; }
  bool at(int64_t i) const {
    const int64_t h = holder(i);
    return by == By::many ? h % 5 == 3 : by == By::four && (h == 3 || h == 17 || h == 31 || h == 95);
  }
  template <class Of>
  Column numbers(const char* name, ColumnType type, int decimals, Of&& of) const {
    const auto value = [&](int64_t k) { return of(rows[static_cast<size_t>(k)]); };
    return numbers_by(name, type, static_cast<int64_t>(rows.size()), value, decimals);
  }
  template <class Of>
  Column whole(const char* name, Of&& of) const {
    return numbers(name, ColumnType::integer, 0, of);
  }
  template <class Of>
  Column decimals(const char* name, int digits, Of&& of) const {
    return numbers(name, ColumnType::decimal, digits, of);
  }
  template <class Of>
  Column dates(const char* name, Of&& of) const {
    return numbers(name, ColumnType::date, 0, of);
  }
  template <class Of>
  Column categories(const char* name, Of&& of) const {
    return texts_by(name, static_cast<int64_t>(rows.size()),
                    [&](int64_t k) { return std::string(of(rows[static_cast<size_t>(k)])); });
  }
};

double to(double x, int decimals) {
  const double tens = std::pow(10, decimals);
  return std::nearbyint(x * tens) / tens;
}
// A number with two more digits where something is planted.
double finer(const Planting& p, int64_t i, double x) { return p.at(i) ? to(x, 1) + 0.003 : to(x, 1); }

struct StoredCase {
  const char* kind;
  std::function<Columns(const Planting&)> columns;
  std::string secret;  // in the rules' JSON where many hold what is planted; "": nothing is
  bool of_rows = true, of_keys = true;
};

std::vector<StoredCase> cases() {
  const auto one = [](int64_t i) { return whole_between(i, 1, 1, 99); };
  const auto status = [](const Planting& p, int64_t i) {
    return p.at(i) ? "SECRET" : uniform(i, 2) < 0.3 ? "open" : uniform(i, 2) < 0.6 ? "sent" : "back";
  };
  const auto temperature = [](const Planting& p, int64_t i) {
    return to(p.at(i) ? between(i, 3, 41, 42) : between(i, 3, 35, 40.9), 1);
  };
  const auto product = [](const Planting& p, int64_t i) {
    return p.at(i) ? 40 : static_cast<int>(whole_between(i, 4, 0, 9));
  };
  const auto price = [](int k) { return k == 40 ? 7913.37 : to(1 + 60 * uniform(k, 9), 2); };
  const std::vector<double> firsts{18262, 18293, 18322, 18353, 18383, 18414, 18444, 18475};  // of months of 2020
  const std::vector<double> primes{5, 7, 11, 13, 17, 19, 23, 29};  // their multiples are on no grid
  const auto common = [](int64_t i) { return i % 10 == 3 || i % 10 == 7; };
  return {
      {"computed",  // a factor that few rows need
       [=](const Planting& p) {
         const auto fee = [&](int64_t i) { return p.at(i) ? whole_between(i, 5, 1, 50) : 0; };
         return Columns{p.whole("a", one), p.whole("fee", fee),
                        p.decimals("total", 3, [&](int64_t i) { return one(i) + 3.217 * fee(i); })};
       },
       "3.217"},
      {"computed",  // two factors that few rows tell apart
       [=](const Planting& p) {
         const auto b = [&](int64_t i) { return whole_between(i, 5, 1, 50) + (p.at(i) ? 7 : 0); };
         return Columns{
             p.whole("a", one), p.whole("b", b), p.whole("c", [&](int64_t i) { return whole_between(i, 5, 1, 50); }),
             p.decimals("total", 3,
                        [&](int64_t i) { return one(i) + 2.417 * b(i) + 1.173 * whole_between(i, 5, 1, 50); })};
       },
       "2.417"},
      {"computed",  // a constant factor that rounding hides where amounts are small
       [=](const Planting& p) {
         const auto x = [&](int64_t i) { return p.at(i) ? 1e5 + one(i) : whole_between(i, 5, 1, 20); };
         return Columns{p.whole("x", x), p.whole("y", [&](int64_t i) { return std::nearbyint(3.771934 * x(i)); })};
       },
       "3.771934"},
      {"combinations",
       [=](const Planting& p) {
         const auto place = [](int64_t i) { return static_cast<int>(whole_between(i, 1, 0, 8)); };
         return Columns{p.categories("city", [&](int64_t i) { return "city " + std::to_string(place(i)); }),
                        p.categories("country", [&](int64_t i) { return "country " + std::to_string(place(i) % 3); })};
       },
       ""},
      {"bound",
       [=](const Planting& p) {
         const auto low = [&](int64_t i) { return finer(p, i, between(i, 1, 0, 900)); };
         return Columns{p.decimals("low", 3, low), p.decimals("high", 3, [&](int64_t i) {
                          return to(low(i) + between(i, 2, 1, 60), 1) + (p.at(i) ? 0.003 : 0);
                        })};
       },
       "\"decimals\":3"},
      {"bound",  // a value of its own
       [=](const Planting& p) {
         const auto from = [&](int64_t i) { return whole_between(i, 1, 17000, 19000); };
         return Columns{p.dates("from", from), p.dates("until", [&](int64_t i) {
                          return p.at(i) ? 41234 : from(i) + whole_between(i, 2, 1, 900);
                        })};
       },
       "41234", true, false},
      {"function",
       [=](const Planting& p) {
         const auto day = [&](int64_t i) { return whole_between(i, 1, 17000, 19000); };
         return Columns{p.dates("day", day), p.whole("weekday", [&](int64_t i) { return std::fmod(day(i) + 3, 7); })};
       },
       ""},
      {"spelled",
       [=](const Planting& p) {
         return Columns{
             p.whole("left", [&](int64_t i) { return 100 * whole_between(i, 1, 0, 23) + whole_between(i, 2, 0, 59); })};
       },
       "", true, false},
      {"key",  // the last row of a user may be omitted
       [=](const Planting& p) {
         const auto place = [](int64_t i) { return static_cast<double>(i == 17 ? 3 : i == 19 ? 1 : i % 4); };
         return Columns{p.whole("user", [](int64_t i) { return 700 + std::floor(static_cast<double>(i) / 4); }),
                        p.whole("loan", [=](int64_t i) { return 1 + place(i); })};
       },
       "", true, false},
      {"loose bound",
       [=](const Planting& p) {
         return Columns{p.decimals("small", 3, [&](int64_t i) { return finer(p, i, between(i, 1, 0, 100)); }),
                        p.decimals("larger", 3, [&](int64_t i) {
                          return finer(p, i, std::max(between(i, 1, 0, 100), between(i, 4, 60, 200)));
                        })};
       },
       "\"decimals\":3", true, false},
      {"bands",  // a band of its own
       [=](const Planting& p) {
         return Columns{p.decimals("x", 1, [&](int64_t i) { return temperature(p, i); }),
                        p.categories("label", [&](int64_t i) {
                          const double x = temperature(p, i);
                          return x >= 41 ? "SECRET" : x >= 37.5 ? "fever" : "normal";
                        })};
       },
       "SECRET"},
      {"bands",  // an end of one
       [=](const Planting& p) {
         const auto x = [&](int64_t i) {
           return p.at(i)       ? 36.87 + one(i) / 100
                  : one(i) < 50 ? to(between(i, 2, 1, 30), 2)
                                : to(between(i, 2, 50, 90), 2);
         };
         return Columns{p.decimals("x", 2, x),
                        p.categories("label", [&](int64_t i) { return x(i) < 36.87 ? "low" : "high"; })};
       },
       ""},
      {"lookup",  // a combination of few rows
       [=](const Planting& p) {
         const auto ward = [](int64_t i) { return static_cast<int>(whole_between(i, 1, 0, 6)); };
         const auto year = [&](int64_t i) {
           return p.at(i) ? 1913 : 2001 + static_cast<int>(whole_between(i, 2, 0, 4));
         };
         return Columns{p.categories("ward", [&](int64_t i) { return "ward " + std::to_string(ward(i)); }),
                        p.whole("year", year),
                        p.whole("beds", [&](int64_t i) { return std::floor(6 * uniform(10 * year(i) + ward(i), 7)); })};
       },
       "1913", true, false},
      {"missing",
       [=](const Planting& p) {
         return Columns{p.categories("status", [&](int64_t i) { return status(p, i); }),
                        p.whole("delivered", [&](int64_t i) {
                          const std::string is = status(p, i);
                          return is == "open" || is == "SECRET" ? kMissing : one(i);
                        })};
       },
       "SECRET"},
      {"filled",  // where the lower one is missing, four rows lie far apart
       [=](const Planting& p) {
         const auto from = [&](int64_t i) { return whole_between(i, 1, 17000, 19000); };
         return Columns{
             p.dates("from", [&](int64_t i) { return p.at(i) || i % 9 == 0 ? kMissing : from(i); }),
             p.dates("until", [&](int64_t i) { return p.at(i) ? 41234 : from(i) + whole_between(i, 2, 1, 900); })};
       },
       "41234", true, false},
      {"grid",
       [=](const Planting& p) {
         return Columns{p.whole("fee", [&](int64_t i) { return 25 * whole_between(i, 1, 4, 80) + (p.at(i) ? 5 : 0); })};
       },
       "\"step\":5}"},
      {"month",
       [=](const Planting& p) {
         return Columns{
             p.dates("month", [&](int64_t i) { return firsts[static_cast<size_t>(whole_between(i, 1, 0, 7))]; }),
             p.whole("x", one)};
       },
       ""},
      {"weekdays",  // four rows are on a Saturday
       [=](const Planting& p) {
         return Columns{p.dates("day",
                                [&](int64_t i) {
                                  const double monday = 18263 + 7 * whole_between(i, 1, 0, 90);
                                  return monday + (p.at(i) ? 5 : whole_between(i, 2, 0, 4));
                                }),
                        p.whole("x", one)};
       },
       "", true, false},
      {"rates",  // of a category of its own
       [=](const Planting& p) {
         return Columns{p.categories("product",
                                     [&](int64_t i) {
                                       return p.at(i) ? std::string("SECRET") : "p" + std::to_string(product(p, i));
                                     }),
                        p.whole("quantity", one),
                        p.decimals("amount", 2, [&](int64_t i) { return to(one(i) * price(product(p, i)), 2); })};
       },
       "7913.37"},
      {"rates",  // of a common category, by the few rows that say it
       [=](const Planting& p) {
         const auto quantity = [&](int64_t i) { return common(i) && !p.at(i) ? 0 : one(i); };
         const auto is = [&](int64_t i) { return common(i) ? 40 : static_cast<int>(whole_between(i, 4, 0, 9)); };
         return Columns{p.categories("product", [&](int64_t i) { return "p" + std::to_string(is(i)); }),
                        p.whole("quantity", quantity),
                        p.decimals("amount", 2, [&](int64_t i) { return to(quantity(i) * price(is(i)), 2); })};
       },
       "7913.37"},
      {"rates",  // of a common category, to the digits that few rows give
       [=](const Planting& p) {
         const auto quantity = [&](int64_t i) {
           return p.at(i) ? 1e5 + one(i) : primes[static_cast<size_t>(whole_between(i, 5, 0, 7))];
         };
         const auto is = [&](int64_t i) {  // too many products for a value of each with each quantity
           return p.at(i) || i % 4 == 0 ? 3 : static_cast<int>(whole_between(i, 4, 4, 60));
         };
         const auto rate = [](int k) { return k == 3 ? 3.771934 : 6 + k; };
         return Columns{p.categories("product", [&](int64_t i) { return "p" + std::to_string(is(i)); }),
                        p.whole("quantity", quantity),
                        p.whole("amount", [&](int64_t i) { return std::nearbyint(quantity(i) * rate(is(i))); })};
       },
       "3.771934"},
      {"rates",  // calendar months of a category of its own
       [=](const Planting& p) {
         const auto from = [](int64_t i) { return whole_between(i, 1, 17000, 19000); };
         const auto plan = [=](int64_t i) { return p.at(i) ? 977 : whole_between(i, 2, 1, 9); };
         return Columns{
             p.dates("from", from),
             p.categories("plan",
                          [=](int64_t i) { return p.at(i) ? std::string("SECRET") : "p" + std::to_string(plan(i)); }),
             p.dates("until", [=](int64_t i) { return add_months(from(i), plan(i)); })};
       },
       "977"},
      {"form",  // digits that few rows have
       [=](const Planting& p) {
         return Columns{p.decimals("price", 4, [&](int64_t i) { return to(between(i, 1, 1, 500), p.at(i) ? 4 : 2); })};
       },
       "\"digits\":4", true, false},
      {"digits",  // of a test of its own
       [=](const Planting& p) {
         const auto test = [&](int64_t i) { return p.at(i) ? 2 : static_cast<int>(whole_between(i, 1, 0, 1)); };
         return Columns{p.categories("test",
                                     [=](int64_t i) {
                                       return std::vector{"a", "b", "SECRET"}[test(i)];
                                     }),
                        p.decimals("result", 4, [=](int64_t i) {
                          return to(between(i, 2, 1, 500), std::vector{1, 2, 4}[static_cast<size_t>(test(i))]);
                        })};
       },
       "SECRET", true, false},
      {"repeat",
       [=](const Planting& p) {
         const auto bill = [&](int64_t i) { return to(between(i, 1, 10, 900), 2) + (p.at(i) ? 1234567.89 : 0); };
         return Columns{p.decimals("bill", 2, bill), p.decimals("paid", 2, [&](int64_t i) {
                          return p.at(i) || uniform(i, 2) < 0.4 ? bill(i) : to(bill(i) * between(i, 3, 0.5, 1.5), 2);
                        })};
       },
       "", true, false},
      {"cycle",
       [=](const Planting& p) {
         return Columns{p.numbers("at", ColumnType::datetime, 3, [&](int64_t i) {
           return 1.6e9 + 86400 * whole_between(i, 1, 0, 300) + 3600 * whole_between(i, 2, 8, 16) +
                  (p.at(i) ? 0.125 : 0);
         })};
       },
       "\"decimals\":3", true, false},
      {"cycle",
       [=](const Planting& p) {
         const auto day = [](int64_t i) { return whole_between(i, 1, 0, 700); };
         return Columns{
             p.whole("day", [=](int64_t i) { return p.at(i) ? 123456 : day(i); }),
             p.categories("weekday", [=](int64_t i) { return "day " + std::to_string(std::fmod(day(i), 7)); })};
       },
       "123456", true, false},
      {"running",
       [=](const Planting& p) {
         const auto way = [=](int64_t i) {
           return std::string(p.at(i) ? "SECRET" : uniform(i, 2) < 0.5 ? "in" : "out");
         };
         const auto moved = [](int64_t i) { return to(1 + 80 * uniform(i, 3), 2); };
         const auto stock = [=](int64_t i) {
           double x = to(1000 * uniform(i / kRowsPerKey, 1), 2);
           for (int64_t k = i - i % kRowsPerKey; k <= i; ++k) x += way(k) == "out" ? -moved(k) : moved(k);
           return to(x, 2);
         };
         return Columns{p.categories("way", way), p.decimals("moved", 2, moved), p.decimals("stock", 2, stock)};
       },
       "SECRET", false},
      {"floor",
       [=](const Planting& p) {
         const auto moved = [](int64_t i) { return whole_between(i, 3, -40, 40); };
         return Columns{p.whole("moved", moved), p.whole("stock", [=](int64_t i) {
                          double x = whole_between(i / kRowsPerKey, 1, 400, 500);
                          for (int64_t k = i - i % kRowsPerKey; k <= i; ++k) x += moved(k);
                          return x;
                        })};
       },
       "", false},
      {"elapsed",  // from the first step
       [=](const Planting& p) {
         const auto when = [](int64_t i) {
           return std::floor(1000 * uniform(i / kRowsPerKey, 1)) + 3.0 * static_cast<double>(i % kRowsPerKey) +
                  std::floor(2 * uniform(i, 2));
         };
         return Columns{p.whole("when", when),
                        p.whole("since", [=](int64_t i) { return when(i) - when(i - i % kRowsPerKey); })};
       },
       "", false},
      {"carried",  // the highest score so far
       [=](const Planting& p) {
         const auto score = [](int64_t i) { return whole_between(i, 3, 0, 5000); };
         return Columns{p.whole("score", score), p.whole("best", [=](int64_t i) {
                          double x = 0;
                          for (int64_t k = i - i % kRowsPerKey; k <= i; ++k) x = std::max(x, score(k));
                          return x;
                        })};
       },
       "", false},
      {"rising",
       [=](const Planting& p) {
         return Columns{p.decimals("reading", 1, [&](int64_t i) {
           return to(1000 * uniform(i / kRowsPerKey, 1), 1) + static_cast<double>(i % kRowsPerKey);
         })};
       },
       "", false},
      {"falling",
       [=](const Planting& p) {
         return Columns{p.decimals("left", 3, [&](int64_t i) {
           return to(finer(p, i, 1000 * uniform(i / kRowsPerKey, 1)) - static_cast<double>(i % kRowsPerKey), 3);
         })};
       },
       "\"decimals\":3", false},
      {"held",  // counted from the index, "when"
       [=](const Planting& p) {
         const auto when = [](int64_t i) {
           return std::floor(1000 * uniform(i / kRowsPerKey, 1)) + 3.0 * static_cast<double>(i % kRowsPerKey);
         };
         return Columns{p.whole("when", when),
                        p.whole("filed", [&](int64_t i) { return when(i) + std::floor(3 * uniform(i, 2)); })};
       },
       "", false},
      {"composed",  // of texts that few rows have
       [=](const Planting& p) {
         const auto country = [=](int64_t i) {
           return std::string(p.at(i) ? "SECRET" : uniform(i, 2) < 0.5 ? "FR" : "DE");
         };
         const auto code = [=](int64_t i) { return country(i) + "-" + std::to_string(static_cast<int>(one(i))); };
         return Columns{p.categories("country", country), p.whole("a", one), p.categories("code", code)};
       },
       "", true, false}};
}

Rules rules_of(const StoredCase& c, const Planting& p) {
  RuleOptions options;
  std::vector<Column> columns = c.columns(p);
  if (p.keyed) {
    options.steps = true, options.key = "who", options.excluded = {"who"}, options.by_rejection = false;
    if (columns.front().name == "when") options.index = "when", options.excluded.push_back("when");
    columns.push_back(p.categories("who", [&](int64_t i) { return "k" + std::to_string(p.holder(i)); }));
  }
  return found(table(std::move(columns)), options);
}

// What the rules store, without counts of rows and without means over enough of them.
std::vector<std::string> stored(const Rules& rules) {
  std::vector<std::string> out;
  const nlohmann::json all = rules.to_json();
  for (nlohmann::json rule : all["found"]) {
    for (const char* key : {"rows", "held_out", "chance", "share", "low", "high"}) rule.erase(key);
    for (size_t k = 0; rule.contains("levels") && k < rule["levels"].size(); ++k) {
      nlohmann::json level = rule["levels"][k];
      if (level.is_object()) level.erase("share");
      out.push_back(level.dump() + (rule.contains("rates") ? " has the rate " + rule["rates"][k].dump() : ""));
    }
    rule.erase("levels"), rule.erase("rates");
    out.push_back(rule.dump());
  }
  return out;
}

// The numbers and texts of JSON, numbers with their field.
void add_values(const nlohmann::json& json, const std::string& field, std::set<std::string>& out) {
  if (json.is_structured())
    for (const auto& [key, value] : json.items()) add_values(value, json.is_object() ? key : field, out);
  else if (json.is_string()) out.insert(json.get<std::string>());
  else if (json.is_number()) out.insert(field + " " + json.dump());
}

// What the rules and the columns of a table say.
std::set<std::string> values_of(const std::vector<std::string>& rules, const std::vector<Column>& columns) {
  std::set<std::string> out;
  for (const std::string& rule : rules)
    if (const auto json = nlohmann::json::parse(rule, nullptr, false); !json.is_discarded()) add_values(json, "", out);
  for (const Column& c : columns) add_values(write_head(c), "", out);
  return out;
}

bool has_kind(const Rules& rules, const std::string& kind) {
  return std::any_of(rules.found().begin(), rules.found().end(),
                     [&](const FoundRule& f) { return f.rule->kind() == kind; });
}

TEST(StoredByRules, EveryKindHasACase) {
  for (const std::string& kind : rule_kinds()) {
    const auto all = cases();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const StoredCase& c) { return kind == c.kind; })) << kind;
  }
}

TEST(StoredByRules, EveryValueIsOfAtLeastFiveRowsOrKeys) {
  int number = 0;
  for (const StoredCase& c : cases())
    for (const bool keyed : {false, true}) {
      number += !keyed;
      if (keyed ? !c.of_keys : !c.of_rows) continue;
      const std::string name = "case " + std::to_string(number) + ", " + c.kind + (keyed ? " of keys" : " of rows");
      const Rules nobody = rules_of(c, {keyed, Planting::By::nobody}), many = rules_of(c, {keyed, Planting::By::many}),
                  four = rules_of(c, {keyed, Planting::By::four});
      EXPECT_TRUE(has_kind(nobody, c.kind) || has_kind(many, c.kind)) << name << " is not tested";
      if (!c.secret.empty()) {
        EXPECT_NE(many.to_json().dump().find(c.secret), std::string::npos) << name << " would not be seen";
        EXPECT_EQ(four.to_json().dump().find(c.secret), std::string::npos) << name << ": " << four.to_json().dump();
      }
      // Where four rows break a rule a weaker one may be found instead, but it says nothing that only they hold.
      const Planting without(keyed, Planting::By::four, true);
      const std::vector<std::string> same = stored(rules_of(c, without));
      std::set<std::string> known = values_of(same, c.columns(without));
      for (const char* kind :
           {"bound", "combinations", "computed", "repeat", "", "a + 3.59 * b", "computed total", "a | total", "x | y"})
        known.insert(kind);
      for (const std::string& rule : stored(four)) {
        if (std::find(same.begin(), same.end(), rule) != same.end()) continue;
        const std::set<std::string> values = values_of({rule}, {});
        EXPECT_TRUE(!values.empty() && std::includes(known.begin(), known.end(), values.begin(), values.end()))
            << name << ": " << rule << " is not of the table without the four";
      }
    }
}

// A column's own number of rows holds for rules that it is part of.
TEST(StoredByRules, RespectsTheMinimumOfEachColumn) {
  for (const StoredCase& c : cases()) {
    if (!c.of_rows) continue;
    const auto of = [&](int64_t least) {
      std::vector<Column> columns = c.columns({false, Planting::By::many});
      for (Column& column : columns)
        if (&column == &columns.front() || c.secret.starts_with("\"decimals")) column.least_rows = least;
      return found(table(std::move(columns))).to_json().dump();
    };
    if (c.secret.empty()) continue;
    EXPECT_NE(of(6).find(c.secret), std::string::npos) << c.kind << " with " << c.secret;
    EXPECT_EQ(of(201).find(c.secret), std::string::npos) << c.kind << ": 200 rows hold it";
  }
}
// Steps of 60 patients; one of them stays in a ward of its own, at a price of its own, and has a temperature and a
// label of its own. Each patient lives in one or two cities, of which no five patients share one.
Table wards() {
  const auto patient = [](int64_t i) { return i / kRowsPerKey; };
  const auto ward = [=](int64_t i) { return patient(i) == 17 ? 12 : static_cast<int>(whole_between(i, 1, 0, 11)); };
  const auto price = [](int w) { return w == 12 ? 7913.37 : to(between(w, 9, 1, 9), 2); };
  const auto hours = [](int64_t i) { return whole_between(i, 2, 1, 30); };
  const auto heat = [=](int64_t i) {
    return to(patient(i) == 17 ? between(i, 3, 41, 42.9) : between(i, 3, 35, 40.9), 1);
  };
  const auto city = [=](int64_t i) { return static_cast<int>((patient(i) + (uniform(i, 4) < 0.1 ? 1 : 0)) % 60); };
  constexpr int64_t kSteps = 60 * kRowsPerKey;
  const auto text = [](const char* name, auto of) { return texts_by(name, kSteps, of); };
  return table(
      {text("patient", [=](int64_t i) { return "pat" + std::to_string(patient(i)); }),
       whole_by("day", kSteps, [](int64_t i) { return static_cast<double>(i % kRowsPerKey); }),
       text("ward", [=](int64_t i) { return ward(i) == 12 ? "SECRETWARD" : "ward" + std::to_string(ward(i)); }),
       text("floor", [=](int64_t i) { return "floor" + std::to_string(ward(i) % 4); }),
       whole_by("hours", kSteps, hours),
       decimals_by("cost", kSteps, 2, [=](int64_t i) { return to(hours(i) * price(ward(i)), 2); }),
       decimals_by("temperature", kSteps, 1, heat),
       text("label", [=](int64_t i) { return heat(i) >= 41     ? "SECRETBAND"
                                             : heat(i) >= 37.5 ? "fever"
                                                               : "normal"; }),
       whole_by("score", kSteps, [=](int64_t i) { return ward(i) % 4 == 0 ? kMissing : whole_between(i, 5, 1, 900); }),
       text("city", [=](int64_t i) { return "city" + std::to_string(city(i)); }),
       text("country", [=](int64_t i) { return "country" + std::to_string(city(i) % 4); })});
}

TEST(StoredByRules, OmitsASinglePatientFromSequenceModels) {
  FitOptions options = quick_of("timegan", {0, "2", "8", "16"});
  options.sequences.key = "patient", options.sequences.index = "day";
  options.rules.find = true;
  const Model model = fit(wards(), options);
  std::vector<std::string> kinds;
  const nlohmann::json described = model.describe();
  for (const nlohmann::json& rule : described["rules"]) kinds.push_back(rule["kind"]);
  for (const char* kind : {"rates", "bands", "missing"})
    EXPECT_NE(std::find(kinds.begin(), kinds.end(), kind), kinds.end()) << kind << " of the others' rows";
  const std::string file = file_of(model);
  for (const char* secret : {"SECRETWARD", "SECRETBAND", "7913.37", "city | country"})
    EXPECT_EQ(file.find(secret), std::string::npos) << secret;
  // Cities are made up, countries are learned.
  const Table rows = sample(model, 30);
  for (int64_t i = 0; i < rows.rows; ++i) {
    const std::string country = cell(column(rows, "country"), i);
    EXPECT_TRUE(country >= "country0" && country <= "country3" && country.size() == 8) << country;
  }
}

TEST(StoredByRules, RespectsTheSchemasMinimumInCombinations) {
  const auto ward = [](int64_t i) { return i % 100 == 7 ? 12 : static_cast<int>(whole_between(i, 1, 0, 11)); };
  Table real = table(
      {texts_by("ward", 1200, [=](int64_t i) { return ward(i) == 12 ? "SECRET" : "ward" + std::to_string(ward(i)); }),
       texts_by("floor", 1200, [=](int64_t i) { return "floor" + std::to_string(ward(i) % 4); }),
       whole_by("x", 1200, [](int64_t i) { return whole_between(i, 2, 1, 99); })});
  real.columns[0].least_rows = 50;
  FitOptions options = quick_made(1);
  options.rules.find = true;
  const Model model = fit(real, options);
  ASSERT_EQ(model.describe()["rules"][0]["kind"], "combinations");
  EXPECT_EQ(file_of(model).find("SECRET"), std::string::npos);
  const nlohmann::json own = model.describe()["provenance"]["rare_categories"]["own"];
  EXPECT_EQ(own, nlohmann::json::parse(R"([{"column": "ward", "least_rows": 50}])"));
  real.columns[0].least_rows = 0;
  EXPECT_NE(file_of(fit(real, options)).find("SECRET"), std::string::npos) << "twelve rows are enough by default";
}

}  // namespace
}  // namespace tessera::whole
