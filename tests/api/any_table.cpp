// Every fitted model is usable: random small tables with random options, each fitted, saved, loaded, sampled and
// evaluated. A fit ends with a documented error about the data or the options, or with a model whose file gives the
// same rows as the model in memory, with values that the table's columns could hold.
//   TESSERA_ANY_TABLES=400 tries that many tables; TESSERA_ANY_TABLE=17 only that one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/folder.h"
#include "tessera/tessera.hpp"

namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

std::string print(const char* format, double x) {
  char text[400];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::string day(Random& r) {
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d", 1960 + r.below(80), 1 + r.below(12), 1 + r.below(28));
  return text;
}

// The cells of one column of a random kind; "" is missing.
Texts random_column(Random& r, int rows, bool& numeric) {
  const int kind = r.below(18), few = 2 + r.below(6), decimals = r.below(5);
  const double scale = std::pow(10.0, r.below(7) - 2),
               holes = r.one_in(3) ? r.of(std::vector<double>{0.02, 0.3, 0.95}) : 0;
  const int odd = r.below(rows);
  numeric = kind >= 7;
  const std::string places = "%." + std::to_string(decimals) + "f";
  Texts out;
  for (int i = 0; i < rows; ++i) {
    std::string cell;
    switch (kind) {
      case 0: cell = "always"; break;
      case 1: break;  // no value at all
      case 2: cell = i == odd ? "once" : ""; break;
      case 3: cell = "v" + std::to_string(r.below(few)); break;
      case 4:
        cell = r.below(std::max(rows / 4, 2)) > 0 ? "France" : "rare" + std::to_string(r.below(3));
        break;                                                        // one common category, else rare ones
      case 5: cell = "w" + std::to_string(r.below(3 * rows)); break;  // hardly any text twice
      case 6: cell = r.one_in(4) ? "true" : "false"; break;
      case 7: cell = std::to_string(r.below(few)); break;
      case 8: cell = std::to_string(r.below(300)); break;
      case 9: cell = print("%.0f", r.normal() * 1e14); break;  // wide integers
      case 10: cell = print(places.c_str(), r.normal() * scale); break;
      case 11: cell = r.one_in(3) ? print("%.2f", std::exp(3 + r.normal())) : "0.00"; break;  // a spike and a tail
      case 12: cell = print("%.17g", r.normal() * (r.one_in(20) ? 1e300 : 1e-3)); break;
      case 13: cell = day(r); break;
      case 14: cell = day(r) + print(" %02.0f:30:15", r.below(24)); break;
      case 15: cell = i == odd ? "99999" : std::to_string(r.below(3)); break;  // one row far off
      case 16: cell = i == odd ? "7.25" : ""; break;
      default: cell = std::to_string(1000 + i); break;
    }
    out.push_back(holes > 0 && r.uniform() < holes ? "" : cell);
  }
  return out;
}

struct Case {
  std::vector<Texts> columns;
  std::vector<char> numeric;
  int rows = 0;
  tessera_fit_options options{};
  tessera_sequence_options sequences{};
  tessera_context_options context{};
  int least = 5;  // rows a value needs
  std::string settings;
  std::string text;
};

Case random_case(uint64_t number) {
  Random r(number * 7919 + 13);
  Case c;
  c.rows = r.of(std::vector<int>{1, 2, 3, 4, 5, 6, 9, 13, 20, 21, 40, 60, 150, 400, r.one_in(4) ? 1100 : 30});
  const int columns = 1 + r.below(6);
  for (int j = 0; j < columns; ++j) {
    bool numeric = false;
    c.columns.push_back(random_column(r, c.rows, numeric));
    c.numeric.push_back(numeric);
  }
  static const std::vector<const char*> methods{"tvae", "tvae", "made", "ctgan", "timegan"},
      presets{nullptr, nullptr, "best", "paper"}, tiers{nullptr, nullptr, "full", "marginals", "off"};
  tessera_fit_options& o = c.options;
  o.method = r.of(methods), o.preset = r.of(presets);
  o.seed = static_cast<uint64_t>(r.below(1000));
  const std::string method = o.method;
  const bool paper = o.preset != nullptr && std::string(o.preset) == "paper";
  o.rare_categories = r.of(std::vector<int>{0, 0, 0, TESSERA_KEEP_RARE, 2, 10, 40});
  c.least = o.rare_categories > 0 ? o.rare_categories : o.rare_categories == 0 && !paper ? 5 : 1;
  c.settings = "batch-size=" + std::to_string(method == "ctgan" ? 20 : 8 + r.below(30));
  const bool untrained = r.one_in(12);
  if (method == "timegan") {
    c.settings += std::string(";hidden-dim=8;layers=2;iterations=") + (untrained ? "0" : "2");
    c.sequences.struct_size = sizeof c.sequences;
    c.sequences.length = 2 + r.below(4);
    c.sequences.stride = r.below(3);
    if (r.one_in(3) && columns > 1) c.sequences.key = "c0";
    if (r.one_in(4) && columns > 2) c.sequences.index = "c1";
  } else {
    c.settings += std::string(";epochs=") + (untrained ? "0" : "1");
    c.settings += ";embedding-dim=" + std::to_string(4 + r.below(8));
    o.calibrate = method == "made" ? nullptr : r.of(tiers);
    if (method == "ctgan")
      c.settings += std::string(";generator-dim=8,6;discriminator-dim=8;pac=") + (r.one_in(2) ? "10" : "1");
    else if (method == "made") c.settings += ";hidden-dim=12;layers=1";
    else c.settings += ";encoder-dim=8;decoder-dim=8,6";
    if (method == "tvae" && r.one_in(8)) o.keep = "best";
  }
  c.context.threads = 1 + r.below(2);
  if (r.one_in(4)) c.context.memory_limit = 64 << 20, c.context.scratch = "/tmp";
  c.text = method + (paper ? " paper" : " best") + ", rare_categories " + std::to_string(o.rare_categories) +
           ", calibrate " + (o.calibrate == nullptr ? "as it is" : o.calibrate) + (untrained ? ", untrained" : "") +
           ", " + std::to_string(c.rows) + " rows:\n";
  for (int j = 0; j < columns; ++j) {
    c.text += "  c" + std::to_string(j) + ":";
    for (int i = 0; i < std::min(c.rows, 8); ++i)
      c.text += " \"" + c.columns[static_cast<size_t>(j)][static_cast<size_t>(i)] + "\"";
    c.text += "\n";
  }
  return c;
}

void write_table(const Case& c, const std::string& path) {
  std::ofstream out(path);
  for (size_t j = 0; j < c.columns.size(); ++j) out << (j == 0 ? "c" : ",c") << j;
  out << "\n";
  for (int i = 0; i < c.rows; ++i) {
    for (size_t j = 0; j < c.columns.size(); ++j)
      out << (j == 0 ? "" : ",")
          << (c.columns.size() == 1 && c.columns[0][static_cast<size_t>(i)].empty()
                  ? "\"\""
                  : c.columns[j][static_cast<size_t>(i)]);
    out << "\n";
  }
}

// A file without delimiters inside its cells, by column name.
std::map<std::string, Texts> read_columns(const std::string& path) {
  std::ifstream in(path);
  std::string line, cell;
  Texts names;
  std::map<std::string, Texts> out;
  for (bool head = true; std::getline(in, line); head = false) {
    std::istringstream cells(line);
    for (size_t j = 0; head || j < names.size(); ++j) {
      cell.clear();
      if (!std::getline(cells, cell, ',') && head) break;
      if (cell == "\"\"") cell.clear();
      if (head) names.push_back(cell), out[cell];
      else out[names[j]].push_back(cell);
    }
  }
  return out;
}

class AnyTable : public tessera::test::InFolder {
 protected:
  // Whether the fit gave a model; otherwise the error is DATA or USAGE, with a message.
  bool fit_and_use(const Case& c) {
    for (const char* name : {"m", "s.csv", "s2.csv"}) fs::remove(at(name));
    write_table(c, at("t.csv"));
    tessera_context_options context_options = c.context;
    const tessera::Context context(context_options);
    tessera_fit_options options = c.options;
    options.settings = c.settings.c_str();
    if (std::string(options.method) == "timegan") options.sequences = &c.sequences;
    std::vector<tessera::Model> made;
    try {
      made.push_back(tessera::Model::fit(context, tessera::read_csv(context, at("t.csv")), options));
    } catch (const tessera::Error& e) {
      EXPECT_TRUE(e.status() == TESSERA_E_DATA || e.status() == TESSERA_E_USAGE) << e.what();
      EXPECT_GT(std::string(e.what()).size(), 20u);
      return false;
    }
    const tessera::Model& model = made.front();
    model.save(at("m"));
    const tessera::Model opened = tessera::Model::load(at("m"));
    EXPECT_EQ(opened.bytes(), model.bytes()) << "what was opened is another model";
    tessera_sample_options how{};
    how.seed = 3;
    const int64_t count = 50;
    tessera::write_csv(context, model.sample(context, 0, count, how), at("s.csv"));
    tessera::write_csv(context, opened.sample(context, 0, count, how), at("s2.csv"));
    EXPECT_EQ(tessera::test::read_bytes(at("s.csv")), tessera::test::read_bytes(at("s2.csv")))
        << "the file gives other rows than the model in memory";
    if (std::string(options.method) == "timegan")
      return true;  // rows of sequences have additional columns; evaluate needs both tables cut
    check_values(c, nlohmann::json::parse(opened.describe()));
    evaluate(context);
    return true;
  }

  // An evaluation may reject a table of too few rows, with a message.
  void evaluate(const tessera::Context& context) {
    try {
      const std::string report =
          tessera::evaluate(context, tessera::read_csv(context, at("t.csv")), tessera::read_csv(context, at("s.csv")));
      EXPECT_TRUE(nlohmann::json::parse(report).is_object());
    } catch (const tessera::Error& e) {
      EXPECT_TRUE(e.status() == TESSERA_E_DATA || e.status() == TESSERA_E_USAGE) << e.what();
    }
  }

  void check_values(const Case& c, const nlohmann::json& model) {
    const auto made = read_columns(at("s.csv"));
    for (size_t j = 0; j < c.columns.size(); ++j) {
      const std::string name = "c" + std::to_string(j);
      SCOPED_TRACE(name);
      const nlohmann::json& column = model["encoder"]["columns"][j];
      ASSERT_TRUE(made.count(name));
      const Texts &real = c.columns[j], &sampled = made.at(name);
      EXPECT_EQ(sampled.size(), 50u);
      const std::set<std::string> known(real.begin(), real.end());
      const auto present = static_cast<int>(real.size()) - static_cast<int>(std::count(real.begin(), real.end(), ""));
      const std::string coding = column["coding"];
      for (const std::string& cell : sampled) {
        if (cell.empty()) EXPECT_TRUE(known.count("") || present < c.least) << "a value is missing where none was";
        else if (coding == "identifier") EXPECT_LT(cell.size(), 200u);
        else if (!c.numeric[j]) EXPECT_TRUE(known.count(cell)) << cell;
        else if (column["type"] == "integer" || column["type"] == "decimal") check_number(real, cell);
        else if (column["type"] == "category") EXPECT_TRUE(known.count(cell)) << cell;  // digits that are no number
        else
          EXPECT_GE(cell, *std::min_element(known.lower_bound("0"), known.end()))
              << cell;  // dates read like numbers, year first
      }
    }
  }
  static void check_number(const Texts& real, const std::string& cell) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const std::string& x : real)
      if (!x.empty()) low = std::min(low, std::stod(x)), high = std::max(high, std::stod(x));
    EXPECT_GE(std::stod(cell), low) << cell;
    EXPECT_LE(std::stod(cell), high) << cell;
  }
};

TEST_F(AnyTable, IsUsableOnceFitted) {
  const char *many = std::getenv("TESSERA_ANY_TABLES"), *one = std::getenv("TESSERA_ANY_TABLE");
  const uint64_t first = one == nullptr ? 0 : std::strtoull(one, nullptr, 10),
                 count = one != nullptr    ? 1
                         : many == nullptr ? 60
                                           : std::strtoull(many, nullptr, 10);
  uint64_t fitted = 0;
  for (uint64_t k = first; k < first + count; ++k) {
    const Case c = random_case(k);
    SCOPED_TRACE("TESSERA_ANY_TABLE=" + std::to_string(k) + ": " + c.text);
    try {
      fitted += fit_and_use(c);
    } catch (const std::exception& e) { ADD_FAILURE() << e.what(); }
  }
  if (one == nullptr) { EXPECT_GT(2 * fitted, count) << "most tables are tables"; }
}

}  // namespace
