// Units, lengths, types, categories and missing values of sequences come back as they went in.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sequence/sequences.h"

namespace tessera {
namespace {
using namespace steps;

// Visits of patients: key, dates, statics with a missing one, numbers with digits and gaps, categories, booleans, a
// constant, an identifier.
Table visits(int patients = 40, bool even_days = false) {
  std::vector<std::string> who, sex, drug, smokes, lab, site;
  std::vector<double> day, born, weight, pulse;
  uint32_t row = 0;
  for (int p = 0; p < patients; ++p) {
    const auto key = static_cast<uint32_t>(p);
    const int length = 2 + static_cast<int>(6 * uniform(key, 1));
    double at = 10000 + std::floor(400 * uniform(key, 2));
    for (int t = 0; t < length; ++t, ++row) {
      who.push_back("P" + std::to_string(100 + p));
      sex.push_back(p % 7 == 0 ? "" : p % 2 ? "F" : "M");
      born.push_back(p % 5 == 0 ? kMissing : 1930 + p);
      drug.push_back(std::vector<std::string>{"none", "aspirin", "statin", ""}[row % 4]);
      smokes.push_back(row % 3 ? "yes" : "no");
      lab.push_back("L-" + std::to_string(100000 + 77 * row));
      site.push_back("north");
      weight.push_back(row % 6 == 0 ? kMissing : std::round(10 * (50 + 40 * uniform(row, 3))) / 10);
      pulse.push_back(55 + std::floor(60 * uniform(row, 4)));
      day.push_back(at);
      at += even_days ? 7 : 1 + std::floor(30 * uniform(row, 5));
    }
  }
  return table({texts("patient", ColumnType::category, who), dates("date", day),
                texts("sex", ColumnType::category, sex), numbers("weight", ColumnType::decimal, weight, 1),
                numbers("born", ColumnType::integer, born), texts("drug", ColumnType::category, drug),
                texts("smokes", ColumnType::boolean, smokes), numbers("pulse", ColumnType::integer, pulse),
                texts("lab", ColumnType::identifier, lab), texts("site", ColumnType::constant, site)});
}

// A table has no value of the index twice within a key: in samples, times that are written alike move apart.
TEST(SequenceEncoder, TheIndexIsDifferentInEveryStep) {
  std::vector<double> at, x;
  for (int i = 0; i < 60; ++i) at.push_back(60 * (i / 3) + 20 * (i % 3)), x.push_back(i * 7 % 13);
  Table t = table({numbers("at", ColumnType::datetime, at), numbers("x", ColumnType::integer, x)});
  t.columns[0].format = "%Y-%m-%d %H:%M";
  SequenceOptions o = windows(6);
  o.index = "at";
  const Table back = decode(encode(std::move(t), o));
  const std::vector<std::string> times = cells(back.columns[1]);
  for (size_t i = 1; i < times.size(); ++i)
    if (i % 6 != 0) { EXPECT_LT(times[i - 1], times[i]) << i; }
}

TEST(SequenceEncoder, WhatWentInComesBack) {
  const Table t = visits();
  const Whole w = encode(Table(t), keyed("patient", "date", {"sex", "born"}));
  const Table back = decode(w);
  ASSERT_EQ(back.rows, t.rows);
  ASSERT_EQ(back.columns.size(), t.columns.size());
  for (size_t j = 0; j < t.columns.size(); ++j) {
    const Column &c = back.columns[j], &was = *t.find(c.name);
    EXPECT_EQ(c.format, was.format);
    EXPECT_EQ(c.decimals, was.decimals);
    ASSERT_EQ(c.size(), t.rows) << c.name;
    if (c.name == "patient" || c.name == "lab") continue;
    EXPECT_EQ(c.type, was.type) << c.name;
    EXPECT_EQ(cells(c), cells(was)) << c.name;
  }
  EXPECT_EQ(back.columns[0].name, "patient");
  EXPECT_EQ(back.columns[1].name, "date");
  EXPECT_EQ(back.columns[8].name, "lab");
}

// First values of a meter are whole hundreds, its readings have two digits.
TEST(SequenceEncoder, SumsHaveTheDigitsOfTheirDifferences) {
  SequenceOptions o = keyed("meter");
  o.rising = {"reading"};
  std::vector<std::string> meters;
  std::vector<double> readings;
  for (int i = 0; i < 200; ++i) {
    meters.push_back("m" + std::to_string(i / 10));
    readings.push_back(100 * (1 + i / 10) + (i % 10) * 0.37 + (7 * i % 3) * 0.01);
  }
  Column reading = numbers("reading", ColumnType::decimal, readings);
  reading.decimals = 2, reading.format = "0.##";
  for (const auto& [limited, kept] : {std::pair{"0.#", "0.##"}, {"0.0", "0.00"}, {"", ""}}) {
    Team team(1);
    Sequences s = cut(table({texts("meter", ColumnType::category, meters), reading}), o);
    for (Column& c : s.attributes.columns)
      if (c.name == start_of("reading")) c.decimals = 1, c.format = limited;  // as protection leaves it
    const Column c = *SequenceEncoder::fit(s, 5, 7, team, Monitor{}).schema().find("reading");
    EXPECT_EQ(c.decimals, 2);
    EXPECT_EQ(c.format, kept);
  }
}

TEST(SequenceEncoder, KeysAreMadeAnew) {
  const Table t = visits();
  const Table back = decode(encode(Table(t), keyed("patient", "date", {"sex", "born"})));
  const std::vector<std::string> was = cells(t.columns[0]), now = cells(back.columns[0]),
                                 labs = cells(*back.find("lab")), old_labs = cells(*t.find("lab"));
  const std::set<std::string> known(was.begin(), was.end()), known_labs(old_labs.begin(), old_labs.end());
  std::map<std::string, std::string> new_of;
  for (size_t i = 0; i < was.size(); ++i) {
    EXPECT_EQ(known.count(now[i]), 0u) << now[i] << " is a patient of the table";
    EXPECT_EQ(now[i].substr(0, 2), "\"P") << "the pattern stays";
    EXPECT_EQ(new_of.try_emplace(was[i], now[i]).first->second, now[i]) << "rows of a sequence share their key";
    EXPECT_EQ(known_labs.count(labs[i]), 0u);
  }
  std::set<std::string> fresh;
  for (const auto& [old_key, new_key] : new_of) fresh.insert(new_key);
  EXPECT_EQ(fresh.size(), 40u) << "and no two sequences do";
}

// Keys of every type: sequence by sequence another one, of the same type.
TEST(SequenceEncoder, KeysOfEveryType) {
  auto keys_of = [](Column key) {
    const size_t n = static_cast<size_t>(key.size());
    std::vector<double> x;
    for (size_t i = 0; i < n; ++i) x.push_back(static_cast<double>(i));
    return decode(encode(table({std::move(key), numbers("x", ColumnType::decimal, x)}), keyed("k"))).columns[0];
  };
  EXPECT_EQ(cells(keys_of(numbers("k", ColumnType::integer, {70, 70, 50, 50, 60, 60}))),
            (std::vector<std::string>{"110", "110", "111", "111", "112", "112"}))
      << "after 79, in the block of seed 3: blocks are of ten numbers";
  const Column days = keys_of(dates("k", {10, 10, 12, 12}));
  EXPECT_EQ(days.type, ColumnType::date);
  EXPECT_EQ(days.numbers, (std::vector<double>{20, 20, 21, 21})) << "days after the ten that hold the last one";
  std::vector<std::string> flags, few;
  const Column truth = keys_of(texts("k", ColumnType::boolean, {"true", "true", "false", "false"}));
  EXPECT_EQ(truth.type, ColumnType::category);
  EXPECT_NE(cells(truth)[0], cells(truth)[2]);
}

TEST(SequenceEncoder, NoTwoSequencesShareAKeyWhereThePatternHasNoRoom) {
  const Whole w = encode(
      table({texts("k", ColumnType::category, {"a", "a", "b", "b"}), numbers("x", ColumnType::decimal, {1, 2, 3, 4})}),
      keyed("k"));
  std::set<std::string> seen;
  for (int64_t id = 0; id < 1000; id += 2) {
    const std::vector<std::string> keys = cells(decode(w, 0.5f, id).columns[0]);
    EXPECT_TRUE(seen.insert(keys[0]).second) << keys[0];
    EXPECT_TRUE(seen.insert(keys[2]).second) << keys[2];
  }
}

TEST(SequenceEncoder, WindowsOfALongTableComeBackInLongFormat) {
  std::vector<double> price;
  for (uint32_t i = 0; i < 30; ++i) price.push_back(std::round(100 * (20 + 5 * uniform(i))) / 100);
  const Whole w = encode(table({numbers("price", ColumnType::decimal, price, 2)}), windows(4));
  EXPECT_EQ(w.encoder.attribute_width(), 0) << "all windows are alike in length: nothing to learn of them";
  const Table back = decode(w);
  ASSERT_EQ(back.columns.size(), 3u);
  EXPECT_EQ(back.columns[0].name, "sequence");
  EXPECT_EQ(back.columns[1].name, "step");
  for (int64_t i = 0; i < 27; ++i)
    for (int64_t t = 0; t < 4; ++t) {
      const auto row = static_cast<size_t>(4 * i + t);
      EXPECT_EQ(back.columns[0].numbers[row], static_cast<double>(i + 1));
      EXPECT_EQ(back.columns[1].numbers[row], static_cast<double>(t + 1));
      EXPECT_EQ(back.columns[2].numbers[row], price[static_cast<size_t>(i + t)]);
    }
}

TEST(SequenceEncoder, EvenStepsOfTheIndexCostNothing) {
  const SequenceOptions o = keyed("patient", "date", {"sex", "born"});
  const Whole uneven = encode(visits(), o), even = encode(visits(40, true), o);
  EXPECT_EQ(even.encoder.step_width(), uneven.encoder.step_width() - 1) << "a constant difference is no feature";
  EXPECT_EQ(cells(decode(even).columns[1]), cells(visits(40, true).columns[1]));
}

TEST(SequenceEncoder, WhatStandsBehindTheEndOfASequenceIsNoData) {
  const Whole w = encode(visits(), keyed("patient", "date", {"sex", "born"}));
  const Table a = decode(w, 0.5f), b = decode(w, 1e30f), c = decode(w, std::numeric_limits<float>::quiet_NaN());
  for (size_t j = 0; j < a.columns.size(); ++j) {
    EXPECT_EQ(cells(a.columns[j]), cells(b.columns[j]));
    EXPECT_EQ(cells(a.columns[j]), cells(c.columns[j]));
  }
}

TEST(SequenceEncoder, FeaturesOfStepsLieInTheUnitIntervalAndHoldWhatTheCodesHold) {
  const Whole w = encode(visits(), keyed("patient", "date", {"sex", "born"}));
  for (const auto& [layout, codes] :
       {std::pair{&w.encoder.steps(), &w.codes.steps}, std::pair{&w.encoder.attributes(), &w.codes.attributes}}) {
    std::vector<float> features(static_cast<size_t>(codes->rows * layout->data_width));
    to_features(*layout, codes->alphas.data(), codes->codes.data(), codes->rows, features.data());
    for (const float f : features) EXPECT_TRUE(f >= (codes == &w.codes.steps ? 0 : -1) && f <= 1) << f;
    EncodedTable back{codes->rows, std::vector<float>(codes->alphas.size()), std::vector<int32_t>(codes->codes.size())};
    from_features(*layout, features.data(), codes->rows, back.alphas.data(), back.codes.data());
    EXPECT_EQ(back.alphas, codes->alphas);
    EXPECT_EQ(back.codes, codes->codes);
  }
}

TEST(SequenceEncoder, ThreadsChangeNothing) {
  const SequenceOptions o = keyed("patient", "date", {"sex", "born"});
  const Whole one = encode(visits(), o, 1), four = encode(visits(), o, 4);
  EXPECT_EQ(one.codes.steps.alphas, four.codes.steps.alphas);
  EXPECT_EQ(one.codes.attributes.codes, four.codes.attributes.codes);
  EXPECT_EQ(one.encoder.to_json(), four.encoder.to_json());
}

TEST(SequenceEncoder, ReadsBackWhatItWrites) {
  for (const SequenceOptions& o : {keyed("patient", "date", {"born", "sex"}), keyed("patient"), [] {
                                     SequenceOptions w = windows(5, 2);
                                     w.index = "lab_time";
                                     return w;
                                   }()}) {
    Table t = visits();
    std::vector<double> time;
    for (int64_t i = 0; i < t.rows; ++i) time.push_back(0.25 * static_cast<double>(i * i));
    t.columns.push_back(numbers("lab_time", ColumnType::decimal, time, 2));
    Whole w = encode(std::move(t), o);
    const Table before = decode(w);
    w.encoder = SequenceEncoder::from_json(nlohmann::json::parse(w.encoder.to_json().dump()));
    const Table after = decode(w);
    ASSERT_EQ(before.columns.size(), after.columns.size());
    for (size_t j = 0; j < before.columns.size(); ++j)
      EXPECT_EQ(cells(before.columns[j]), cells(after.columns[j])) << before.columns[j].name;
  }
}

// A document with one of its parts changed is refused or still decodes: never a crash.
TEST(SequenceEncoder, DamagedDocumentsAreRefusedOrHarmless) {
  Whole w = encode(visits(), keyed("patient", "date", {"sex", "born"}));
  const nlohmann::json document = w.encoder.to_json().flatten();
  int refused = 0;
  for (const auto& item : document.items())
    for (const nlohmann::json& other : {nlohmann::json(), nlohmann::json(-1), nlohmann::json(1e300),
                                        nlohmann::json("x"), nlohmann::json(false), nlohmann::json(3)}) {
      nlohmann::json damaged = document;
      damaged[item.key()] = other;
      try {
        const SequenceEncoder e = SequenceEncoder::from_json(damaged.unflatten());
        const std::vector<float> alphas(static_cast<size_t>(e.longest() * e.steps().alphas()), 0.5f),
            fixed(static_cast<size_t>(e.attributes().alphas()), 0.5f);
        const std::vector<int32_t> codes(static_cast<size_t>(e.longest() * e.steps().codes()), 0),
            fixed_codes(static_cast<size_t>(e.attributes().codes()), 0);
        const int64_t id = 0;
        const Table rows = e.decode(alphas.data(), codes.data(),
                                    e.decode_attributes(fixed.data(), fixed_codes.data(), &id, 1, 0), &id, 1, 0);
        for (const Column& c : rows.columns) EXPECT_EQ(c.size(), rows.rows);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::format) << error.what();
        ++refused;
      }
    }
  EXPECT_GT(refused, 100);
}

TEST(SequenceEncoder, ConstantStepsAreAnError) {
  const Thrown t = thrown([] {
    encode(table({texts("k", ColumnType::category, {"a", "a", "b", "b"}),
                  numbers("x", ColumnType::integer, {5, 5, 5, 5})}),
           keyed("k"));
  });
  EXPECT_EQ(t.code, ErrorCode::data);
  EXPECT_NE(t.message.find("Every column of the steps is constant"), std::string::npos) << t.message;
}

// No rain on most days, some days without a reading: the mean of the others stands in for both.
TEST(SequenceEncoder, AtomsAndMissingValuesAreAChoice) {
  std::vector<double> rain;
  for (uint32_t i = 0; i < 200; ++i)
    rain.push_back(i % 9 == 0 ? kMissing : uniform(i) < 0.8 ? 0 : std::round(10 * (3 + 5 * uniform(i, 1))) / 10);
  const Whole w = encode(table({numbers("rain", ColumnType::decimal, rain, 1)}), windows(4));
  ASSERT_EQ(w.encoder.steps().spans.size(), 2u);
  EXPECT_EQ(w.encoder.steps().spans[1].width, 3) << "a position, the atom, missing";
  const SequenceEncoder read = SequenceEncoder::from_json(w.encoder.to_json());
  EXPECT_EQ(read.to_json(), w.encoder.to_json());
  const Table back = decode(w);
  for (size_t i = 0; i < back.columns[2].numbers.size(); ++i)
    EXPECT_TRUE(columns::same(back.columns[2].numbers[i], rain[i / 4 + i % 4]));
  for (size_t i = 0; i < rain.size(); ++i)
    if (!(rain[i] > 0)) { EXPECT_GT(w.codes.steps.alphas[i], 0.3) << "of rain that falls"; }
  EXPECT_EQ(encode(table({numbers("rain", ColumnType::decimal, {1, 2, 1, 2, 3, 3, 1, 2})}), windows(4))
                .encoder.steps()
                .codes(),
            0)
      << "no value is far more frequent than the others";
}

// Numbers of any size keep their order and their ends.
TEST(SequenceEncoder, RangesOfAnySize) {
  for (const std::vector<double>& v : {std::vector<double>{-1e308, 1e308, 0, 5e307},
                                       {5e-324, 1e-320, 0, 2e-322},
                                       {1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3},
                                       {-3, -2, -1, kMissing}}) {
    const Table back = decode(encode(table({numbers("x", ColumnType::decimal, v, 0)}), windows(4 - 1)));
    for (size_t i = 0; i < 6; ++i) {
      const double was = v[i / 3 + i % 3], now = back.columns[2].numbers[i];
      EXPECT_TRUE(columns::same(was, now)) << was << " came back as " << now;
    }
  }
}

}  // namespace
}  // namespace tessera
