// What is true of every table, whatever was drawn; and of the files that hold them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "models/prior/files.h"
#include "support/folder.h"

namespace tp = tessera::prior;
namespace fs = std::filesystem;

namespace {

tp::Options small(int64_t rows = 256) {
  tp::Options o;
  o.rows = {rows, rows};
  o.features = {2, 30};
  o.seed = 5;
  return o;
}

std::vector<tp::PriorTable> tables(const tp::Options& o, int64_t count, int threads = 2) {
  tessera::Team team(threads);
  return tp::draw_tables(o, 0, count, team);
}

using tessera::test::Folder;

std::map<std::string, std::string> files_of(const Folder& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    out[entry.path().filename().string()] = tessera::test::read_bytes(entry.path());
  return out;
}

nlohmann::json write(const tp::Options& o, const Folder& folder, tp::Format format, int64_t count, int threads = 1,
                     int64_t part = 0, int64_t parts = 1) {
  tessera::Team team(threads);
  return tp::write_tables(o, {folder.path(), format, count, part, parts}, team, {});
}

TEST(PriorTables, AreValid) {
  for (const auto kind : {tp::Kind::mlp, tp::Kind::tree, tp::Kind::graph}) {
    tp::Options o = small();
    o.kind = kind;
    std::set<std::vector<float>> features, targets;
    for (const tp::PriorTable& t : tables(o, 60)) {
      ASSERT_EQ(static_cast<size_t>(t.rows * t.features), t.x.size());
      ASSERT_GT(t.features, 0);
      ASSERT_LE(t.features, 30);
      for (const float v : t.x) ASSERT_TRUE(std::isfinite(v));
      for (int64_t j = 0; j < t.features; ++j) {
        bool constant = true;
        for (int64_t i = 1; i < t.rows; ++i)
          constant &= t.x[static_cast<size_t>(i * t.features + j)] == t.x[static_cast<size_t>(j)];
        EXPECT_FALSE(constant) << "feature " << j << " of table " << t.index;
      }
      const auto split = t.y.begin() + t.train_rows;
      const std::set<float> train(t.y.begin(), split), test(split, t.y.end());
      EXPECT_EQ(train, test);
      EXPECT_GE(train.size(), 2u);
      EXPECT_LE(static_cast<int64_t>(train.size()), t.settings.classes);
      EXPECT_EQ(static_cast<float>(train.size() - 1), *train.rbegin()) << "classes are 0, 1, …";
      EXPECT_EQ(train.size(), t.class_rows.size());
      EXPECT_TRUE(features.insert(t.x).second) << "table " << t.index << " is another one";
      EXPECT_TRUE(targets.insert(t.y).second) << "table " << t.index << " has the target of another one";
    }
  }
}

TEST(PriorTables, TargetsOfRegressionsAreNumbers) {
  tp::Options o = small();
  o.task = tp::Task::regression;
  for (const tp::PriorTable& t : tables(o, 30)) {
    EXPECT_TRUE(t.class_rows.empty());
    double sum = 0, squares = 0;
    for (const float v : t.y) sum += static_cast<double>(v), squares += static_cast<double>(v * v);
    EXPECT_NEAR(0, sum / 256, 1e-3);
    EXPECT_NEAR(1, squares / 255, 2e-2);
  }
}

TEST(PriorTables, DependOnlyOnSeedAndIndex) {
  for (const auto kind : {tp::Kind::mix, tp::Kind::graph}) {
    tp::Options o = small();
    o.kind = kind;
    const auto one = tables(o, 24, 1), three = tables(o, 24, 3);
    tessera::Team team(2);
    const auto tail = tp::draw_tables(o, 20, 4, team);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].x, three[i].x);
      EXPECT_EQ(one[i].y, three[i].y);
      EXPECT_EQ(one[i].x, i >= 20 ? tail[i - 20].x : one[i].x);
    }
    tp::Options other = o;
    other.seed = 6;
    EXPECT_NE(one[0].x, tables(other, 1)[0].x);
  }
}

TEST(PriorTables, HaveTheRequestedImbalance) {
  tp::Options o = small(1024);
  o.imbalance = {2, 10};
  o.classes = {3, 10};
  auto drawn = tables(o, 40);
  o.kind = tp::Kind::graph;
  for (tp::PriorTable& t : tables(o, 10)) drawn.push_back(std::move(t));
  for (const tp::PriorTable& t : drawn) {
    ASSERT_EQ(static_cast<size_t>(t.settings.classes), t.class_rows.size());
    const auto [low, high] = std::minmax_element(t.class_rows.begin(), t.class_rows.end());
    EXPECT_NEAR(1, static_cast<double>(*high) / static_cast<double>(*low) / t.settings.imbalance, 0.25);
  }
}

TEST(PriorTables, SeparabilityScalesFeaturesByTheirCorrelation) {
  tp::Options o = small();
  const auto plain = tables(o, 10);
  o.separability = {3, 3};
  const auto separated = tables(o, 10);
  for (size_t t = 0; t < plain.size(); ++t) {
    double most = 0;
    for (size_t i = 0; i < plain[t].x.size(); ++i) {
      const double before = static_cast<double>(plain[t].x[i]), after = static_cast<double>(separated[t].x[i]);
      if (before == 0) continue;
      EXPECT_GE(after / before, 1 - 1e-5);
      most = std::max(most, after / before);
    }
    EXPECT_NEAR(3, most, 1e-5);
  }
}

TEST(PriorTables, HaveTheShareOfMissingCells) {
  tp::Options o = small();
  o.kind = tp::Kind::mlp;
  const auto whole = tables(o, 30);
  o.missing = {0.1, 0.5};
  double cells = 0, share = 0, missing = 0;
  const auto drawn = tables(o, 30);
  for (size_t t = 0; t < drawn.size(); ++t) {
    ASSERT_EQ(whole[t].x.size(), drawn[t].x.size());
    EXPECT_EQ(whole[t].y, drawn[t].y);
    std::set<float> seen;
    for (size_t i = 0; i < drawn[t].x.size(); ++i) {
      const float v = drawn[t].x[i];
      missing += std::isnan(v) ? 1 : 0;
      if (std::isnan(v)) continue;
      EXPECT_EQ(whole[t].x[i], v);
      if (i % static_cast<size_t>(drawn[t].features) == 0) seen.insert(v);
    }
    EXPECT_GE(seen.size(), 2u) << "a feature varies";
    const auto n = static_cast<double>(drawn[t].x.size());
    EXPECT_GE(drawn[t].settings.missing, 0.1);
    EXPECT_LE(drawn[t].settings.missing, 0.5);
    cells += n, share += n * drawn[t].settings.missing;
  }
  EXPECT_NEAR(share / cells, missing / cells, 0.05);
}

TEST(PriorTables, OutliersAreClippedAndColumnsScaled) {
  std::vector<float> x;
  for (int i = 0; i < 1000; ++i) x.push_back(static_cast<float>(std::sin(i)));
  x[10] = 1e6f;
  tp::clip_and_scale(x.data(), 1000);
  double sum = 0, squares = 0;
  for (const float v : x) sum += static_cast<double>(v), squares += static_cast<double>(v) * static_cast<double>(v);
  EXPECT_NEAR(0, sum / 1000, 1e-5);
  EXPECT_NEAR(1, squares / 999, 1e-4);
  EXPECT_LT(x[10], 4.1f);
}

TEST(PriorTables, TreesKeepTheMagnitudeOfTheirLeaves) {
  // A tree fitted to noise explains about (leaves − 1)/n of it, of which the learning rate keeps 0.3.
  tp::Settings s;
  s.kind = tp::Kind::tree, s.rows = 2000, s.features = s.causes = 10, s.hidden = 5, s.layers = 1;
  tp::Work work;
  for (uint32_t table = 0; table < 10; ++table) {
    tp::draw_trees(s, {1, table, 0}, work);
    double sum = 0, squares = 0;
    for (const float v : work.y) sum += static_cast<double>(v), squares += static_cast<double>(v * v);
    const double deviation = std::sqrt(squares / 2000 - std::pow(sum / 2000, 2));
    EXPECT_GT(deviation, 0.3 * std::sqrt(3.0 / 2000));
    EXPECT_LT(deviation, 0.3 * 4 * std::sqrt(16.0 / 2000) * 3);
  }
}

TEST(PriorFiles, HaveTheSameBytesForAnyThreadsAndParts) {
  tp::Options o = small(16);
  o.features = {2, 5};
  o.classes = {2, 3};
  for (const auto format : {tp::Format::pt, tp::Format::npy, tp::Format::csv}) {
    const int64_t count = format == tp::Format::pt ? 520 : 7;  // three batches
    const Folder whole, parts;
    write(o, whole, format, count, 2);
    for (const int64_t part : {2, 0, 1}) write(o, parts, format, count, 1, part, 3);
    EXPECT_EQ(files_of(whole), files_of(parts));
  }
}

TEST(PriorFiles, ContinueAStoppedRun) {
  const Folder folder;
  tp::Options o = small(16);
  o.features = {2, 5};
  o.classes = {2, 3};
  write(o, folder, tp::Format::pt, 300);
  const auto before = files_of(folder);
  fs::remove(folder / "batch_000001.pt");
  const auto kept = fs::last_write_time(folder / "batch_000000.pt");
  const nlohmann::json report = write(o, folder, tp::Format::pt, 300);
  EXPECT_EQ(before, files_of(folder));
  EXPECT_EQ(kept, fs::last_write_time(folder / "batch_000000.pt"));
  EXPECT_EQ(256, report["kept"]);
  EXPECT_EQ(44, report["tables"]);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const tessera::Error& e) { return e.what(); }
  return "";
}

TEST(PriorFiles, RejectAFolderOfOtherOptions) {
  const Folder folder;
  write(small(64), folder, tp::Format::csv, 2);
  tp::Options other = small(64);
  other.seed = 9;
  const std::string text = error_of([&] { write(other, folder, tp::Format::csv, 2); });
  EXPECT_NE(std::string::npos, text.find("metadata.json describes tables of other options (seed)")) << text;
  tp::Options range = small();
  range.rows = {50, 100};
  EXPECT_NE(std::string::npos,
            error_of([&] { write(range, folder, tp::Format::pt, 2); }).find("as npy, csv or parquet"));
}

// The entry of an archive without compression, by the local headers from its beginning on.
std::string entry(const std::string& zip, const std::string& name) {
  for (size_t at = 0; zip.compare(at, 4, "PK\x03\x04") == 0;) {
    const auto number = [&](size_t offset, size_t bytes) {
      size_t out = 0;
      for (size_t i = bytes; i-- > 0;) out = out << 8 | static_cast<uint8_t>(zip[at + offset + i]);
      return out;
    };
    const size_t size = number(18, 4), words = number(26, 2), begin = at + 30 + words + number(28, 2);
    if (zip.substr(at + 30, words) == name) return zip.substr(begin, size);
    at = begin + size;
  }
  return "";
}
template <class T>
std::vector<T> values(const std::string& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

TEST(PriorFiles, RoundTripTheirTables) {
  const tp::Options o = small(64);
  const Folder torch, numpy;
  write(o, torch, tp::Format::pt, 5);
  write(o, numpy, tp::Format::npy, 5);
  std::vector<float> x, y;
  std::vector<int64_t> features;
  for (const tp::PriorTable& t : tables(o, 5)) {
    x.insert(x.end(), t.x.begin(), t.x.end());
    y.insert(y.end(), t.y.begin(), t.y.end());
    features.push_back(t.features);
    const auto files = files_of(numpy);
    const std::string head = "episode_00000" + std::to_string(t.index + 1), npy = files.at(head + "_X.npy");
    EXPECT_EQ(t.x, values<float>(npy.substr(10 + static_cast<uint8_t>(npy[8]))));
    EXPECT_EQ(t.features, nlohmann::json::parse(files.at(head + "_meta.json"))["features"]);
  }
  const std::string zip = files_of(torch).at("batch_000000.pt");
  EXPECT_EQ(x, values<float>(entry(zip, "archive/data/0")));
  EXPECT_EQ(y, values<float>(entry(zip, "archive/data/1")));
  EXPECT_EQ(features, values<int64_t>(entry(zip, "archive/data/2")));
  const std::string pickle = entry(zip, "archive/data.pkl");
  for (const char* key : {"X", "y", "d", "seq_lens", "train_sizes", "batch_size"})
    EXPECT_NE(std::string::npos, pickle.find(key)) << key;
}

TEST(PriorTables, RejectInvalidOptions) {
  tp::Options o = small();
  o.features = {5, 2};
  EXPECT_NE(std::string::npos,
            error_of([&] { tp::check_options(o); }).find("features 5..2: both ends must be from 1 to"));
  o = small(10);
  o.features = {2, 2};
  o.classes = {10, 10};
  o.imbalance = {50, 50};
  tp::Work work;
  const std::string text = error_of([&] { tp::draw_table(o, 3, work); });
  EXPECT_NE(std::string::npos, text.find("table 3 of seed 5: none of 1000 attempts")) << text;
}

}  // namespace
