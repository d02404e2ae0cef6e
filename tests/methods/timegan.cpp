// TimeGAN as a user sees it: a short fit of sequences with a known law follows it, and an untrained model does not; a
// sequence does not depend on its batch; files round-trip; a resumed run equals an uninterrupted one.
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>

#include "models/tables.h"

namespace tessera::whole {
namespace {

FitOptions small(int iterations) {
  FitOptions o;
  o.method = "timegan";
  apply_preset(o);
  TimeganConfig& c = o.as<TimeganConfig>();
  c.embedding_iterations = c.supervised_iterations = c.joint_iterations = iterations;
  c.batch = 32;
  c.hidden = 8;
  c.layers = 1;
  o.seed = 3;
  return o;
}

Table rows_of(const Model& m, int64_t offset, int64_t count, int batch = 0, int threads = 2) {
  SampleOptions o;
  o.seed = 11;
  o.batch = batch;
  return sample(m, count, o, {offset, threads});
}

// x_t = φ·x_{t−1} + noise: one long table.
Table autoregressive(int64_t rows, double phi) {
  double x = 0;
  return table(
      {decimals_by("x", rows, 4, [&](int64_t i) { return std::round(1e4 * (x = phi * x + normal(i, 5))) / 1e4; })});
}

// Sequences of two kinds with their own lengths: "short" with 3 or 4 rising steps, "long" with 8 to 10 falling ones,
// with a word that depends on the sign of the step, and a value that is missing in a third of the rows.
Table visits(int64_t sequences) {
  std::vector<double> key, day, level, extra;
  std::vector<std::string> kind, word;
  for (int64_t s = 0; s < sequences; ++s) {
    const bool longer = uniform(s, 1) < 0.5;
    const int64_t steps =
        longer ? 8 + static_cast<int64_t>(3 * uniform(s, 2)) : 3 + static_cast<int64_t>(2 * uniform(s, 2));
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t i = static_cast<int64_t>(key.size());
      key.push_back(static_cast<double>(s + 1));
      day.push_back(static_cast<double>(18000 + 10 * s + t));
      kind.push_back(longer ? "long" : "short");
      level.push_back(
          std::round(100 * ((longer ? 20 - static_cast<double>(t) : static_cast<double>(t)) + uniform(i, 3))) / 100);
      word.push_back(longer ? "down" : "up");
      extra.push_back(uniform(i, 4) < 1.0 / 3 ? kMissing : std::floor(50 * uniform(i, 5)));
    }
  }
  return table({numbers("patient", ColumnType::integer, key), numbers("day", ColumnType::date, day),
                texts("kind", ColumnType::category, kind), numbers("level", ColumnType::decimal, level, 2),
                texts("word", ColumnType::category, word), numbers("extra", ColumnType::integer, extra)});
}

FitOptions of_visits(int iterations) {
  FitOptions o = small(iterations);
  o.sequences.key = "patient", o.sequences.index = "day", o.sequences.statics = {"kind"};
  return o;
}

// Autocorrelation within windows.
double correlation(const Table& t, const char* name, int64_t window, int64_t lag) {
  const Column& c = column(t, name);
  double mean = 0, variance = 0, covariance = 0, pairs = 0;
  for (const double x : c.numbers) mean += x / static_cast<double>(c.size());
  for (int64_t i = 0; i < c.size(); ++i) {
    const double d = c.numbers[static_cast<size_t>(i)] - mean;
    variance += d * d / static_cast<double>(c.size());
    if (i % window + lag < window && i + lag < c.size())
      covariance += d * (c.numbers[static_cast<size_t>(i + lag)] - mean), ++pairs;
  }
  return covariance / pairs / variance;
}

TEST(Timegan, LearnsAutocorrelation) {
  const Table real = autoregressive(1500, 0.9);
  const double want = correlation(real, "x", 1 << 30, 1);
  FitOptions o = small(500);
  o.sequences.length = 12;
  const Table trained = rows_of(fit(real, o), 0, 200);
  EXPECT_EQ(trained.rows, 200 * 12);
  EXPECT_NEAR(correlation(trained, "x", 12, 1), want, 0.25);
  const Column& c = column(trained, "x");
  double mean = 0, square = 0, real_mean = 0, real_square = 0;
  for (const double x : c.numbers)
    mean += x / static_cast<double>(c.size()), square += x * x / static_cast<double>(c.size());
  for (const double x : real.columns[0].numbers)
    real_mean += x / static_cast<double>(real.rows), real_square += x * x / static_cast<double>(real.rows);
  const double stddev = std::sqrt(square - mean * mean), real_stddev = std::sqrt(real_square - real_mean * real_mean);
  EXPECT_NEAR(mean, real_mean, 0.5 * real_stddev);
  EXPECT_GT(stddev, 0.5 * real_stddev);
  EXPECT_LT(stddev, 1.6 * real_stddev);
}

// Patients with their own level, which falls with the year of birth, and values around it.
Table levels(int64_t patients) {
  std::vector<double> key, day, year, level;
  for (int64_t p = 0; p < patients; ++p) {
    const double age = uniform(p, 7), own = 120 + 40 * (age - 0.5) + 4 * normal(p, 8);
    const int64_t steps = 3 + static_cast<int64_t>(6 * uniform(p, 9));
    for (int64_t t = 0; t < steps; ++t) {
      const auto i = static_cast<int64_t>(key.size());
      key.push_back(static_cast<double>(p + 1));
      day.push_back(static_cast<double>(18000 + 7 * t));
      year.push_back(2000 - std::floor(70 * age));
      level.push_back(std::round(own + 3 * normal(i, 10)));
    }
  }
  return table({numbers("patient", ColumnType::integer, key), numbers("day", ColumnType::date, day),
                numbers("year", ColumnType::integer, year), numbers("level", ColumnType::integer, level)});
}

double correlation_of(const Table& t, const char* a, const char* b) {
  const Column &x = column(t, a), &y = column(t, b);
  const auto n = static_cast<double>(t.rows);
  double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
  for (int64_t i = 0; i < t.rows; ++i) {
    const double u = x.numbers[static_cast<size_t>(i)], v = y.numbers[static_cast<size_t>(i)];
    sx += u, sy += v, xx += u * u, yy += v * v, xy += u * v;
  }
  return (xy - sx * sy / n) / std::sqrt((xx - sx * sx / n) * (yy - sy * sy / n));
}

TEST(Timegan, StepsDependOnStaticColumns) {
  const Table real = levels(300);
  FitOptions o = small(500);
  o.sequences.key = "patient", o.sequences.index = "day", o.sequences.statics = {"year"};
  const auto sampled = [&](double weight) {
    o.as<TimeganConfig>().correlations = weight;
    return correlation_of(rows_of(fit(real, o), 0, 400), "year", "level");
  };
  const double want = correlation_of(real, "year", "level"), with = sampled(1), without = sampled(0);
  EXPECT_LT(want, -0.8);
  EXPECT_LT(with, 0.6 * want);
  EXPECT_LT(with, without - 0.2);
}

// Sequences by key: rows with it, kind of the first, start.
struct DrawnSequence {
  int64_t rows = 0;
  std::string kind;
  double start = 0;
};
std::map<double, DrawnSequence> drawn(const Table& t) {
  std::map<double, DrawnSequence> out;
  for (int64_t i = 0; i < t.rows; ++i) {
    DrawnSequence& d = out[column(t, "patient").numbers[static_cast<size_t>(i)]];
    if (d.rows++ == 0) d.kind = cell(column(t, "kind"), i), d.start = column(t, "day").numbers[static_cast<size_t>(i)];
    EXPECT_EQ(cell(column(t, "kind"), i), d.kind);
  }
  return out;
}

TEST(Timegan, MeetsConditionsOnAttributes) {
  const Model m = fit(visits(120), of_visits(2));
  const auto under = [&](const std::string& where, int64_t offset, int64_t count, int batch) {
    SampleOptions o;
    o.seed = 5, o.where = where, o.batch = batch;
    return sample(m, count, o, {offset, 2});
  };
  const std::string condition = "kind = 'long' and length between 7 and 9 and start > '2019-06-01'";
  const Table all = under(condition, 0, 40, 0);
  const auto sequences = drawn(all);
  ASSERT_EQ(sequences.size(), 40u);
  for (const auto& [key, s] : sequences) {
    EXPECT_EQ(s.kind, "long") << key;
    EXPECT_TRUE(s.rows >= 7 && s.rows <= 9) << key << ": " << s.rows;
    EXPECT_GT(s.start, 18048) << key;
  }
  // any batch and offset: sequence i is sequence i
  const auto part = drawn(under(condition, 11, 9, 3));
  for (const auto& [key, s] : part) {
    ASSERT_TRUE(sequences.contains(key));
    EXPECT_EQ(s.rows, sequences.at(key).rows);
  }
  // other conditions have other keys
  for (const auto& [key, s] : drawn(under("kind = 'long'", 0, 40, 0))) EXPECT_FALSE(sequences.contains(key));

  const Thrown rare = thrown([&] { under("length > 300", 0, 2, 0); });
  EXPECT_EQ(rare.code, ErrorCode::condition);
  EXPECT_TRUE(rare.says("\"length > 300\": 0 of")) << rare.message;
  const Thrown step = thrown([&] { under("level > 3", 0, 2, 0); });
  EXPECT_EQ(step.code, ErrorCode::condition);
  EXPECT_TRUE(step.says("\"level\"") && step.says("kind, length, start")) << step.message;
}

TEST(Timegan, LearnsWaves) {
  // Each window of one table is a wave with its own phase and frequency.
  constexpr int64_t kWindows = 150, kSteps = 16;
  const Table real = table({decimals_by("wave", kWindows * kSteps, 9, [](int64_t i) {
    const int64_t w = i / kSteps, t = i % kSteps;
    return std::sin((0.3 + 0.3 * uniform(w, 1)) * static_cast<double>(t) + 6.283185307179586 * uniform(w, 2));
  })});
  const auto waves = [](int iterations) {
    FitOptions o = small(iterations);
    o.as<TimeganConfig>().learning_rate = 4e-3;
    o.as<TimeganConfig>().hidden = 12;
    o.sequences.length = kSteps, o.sequences.stride = kSteps;
    return o;
  };
  const Table made = rows_of(fit(real, waves(1000)), 0, 150);
  // Frequencies of 0.3 to 0.6: adjacent steps are similar, steps half a period later are opposite.
  EXPECT_NEAR(correlation(made, "wave", kSteps, 1), correlation(real, "wave", kSteps, 1), 0.2);
  EXPECT_NEAR(correlation(made, "wave", kSteps, 7), correlation(real, "wave", kSteps, 7), 0.3);
  const auto [low, high] =
      std::minmax_element(column(made, "wave").numbers.begin(), column(made, "wave").numbers.end());
  EXPECT_GE(*low, -1.001);
  EXPECT_LE(*high, 1.001);
  EXPECT_GT(*high - *low, 1.2);
  const Table untrained = rows_of(fit(real, waves(0)), 0, 150);
  const auto [least, most] =
      std::minmax_element(column(untrained, "wave").numbers.begin(), column(untrained, "wave").numbers.end());
  EXPECT_LT(*most - *least, 0.6);
}

TEST(Timegan, LearnsLengthsAndWordsByStaticCategory) {
  const Table real = visits(300);
  const Table made = rows_of(fit(real, of_visits(500)), 0, 200);
  ASSERT_EQ(made.columns.size(), real.columns.size());
  for (size_t j = 0; j < real.columns.size(); ++j) {
    EXPECT_EQ(made.columns[j].name, real.columns[j].name);
    EXPECT_EQ(made.columns[j].type, real.columns[j].type) << real.columns[j].name;
  }
  std::map<std::string, std::vector<int64_t>> lengths;  // by kind
  int64_t words = 0, missing = 0;
  for (int64_t i = 0; i < made.rows;) {
    int64_t end = i;
    const std::string key = cell(column(made, "patient"), i), kind = cell(column(made, "kind"), i);
    while (end < made.rows && cell(column(made, "patient"), end) == key) {
      EXPECT_EQ(cell(column(made, "kind"), end), kind);
      EXPECT_TRUE(end == i || column(made, "day").numbers[static_cast<size_t>(end)] ==
                                  column(made, "day").numbers[static_cast<size_t>(end - 1)] + 1);
      words += cell(column(made, "word"), end) == (kind == "long" ? "down" : "up");
      missing += column(made, "extra").is_missing(end);
      ++end;
    }
    lengths[kind].push_back(end - i);
    i = end;
  }
  ASSERT_EQ(lengths.size(), 2u);
  EXPECT_EQ(lengths["long"].size() + lengths["short"].size(), 200u);
  EXPECT_NEAR(static_cast<double>(lengths["long"].size()), 100, 40);
  auto mean = [](const std::vector<int64_t>& v) {
    double sum = 0;
    for (const int64_t x : v) sum += static_cast<double>(x) / static_cast<double>(v.size());
    return sum;
  };
  EXPECT_NEAR(mean(lengths["short"]), 3.5, 1);
  EXPECT_NEAR(mean(lengths["long"]), 9, 1);
  EXPECT_GT(static_cast<double>(words), 0.85 * static_cast<double>(made.rows));
  EXPECT_GT(missing, 0);
  EXPECT_LT(missing, made.rows);
}

TEST(Timegan, SequencesAreIndependentOfWork) {
  const Table real = visits(60);
  const Model m = fit(real, of_visits(20));
  const Table whole = rows_of(m, 0, 30);
  EXPECT_EQ(lines(whole), lines(rows_of(m, 0, 30, 7)));
  EXPECT_EQ(lines(whole), lines(rows_of(m, 0, 30, 2, 1)));
  const Table part = rows_of(m, 20, 10, 3);
  const std::vector<std::string> all = lines(whole);
  EXPECT_EQ(std::vector<std::string>(all.end() - part.rows, all.end()), lines(part));
  const Model same = fit(real, of_visits(20), 3);
  EXPECT_EQ(lines(whole), lines(rows_of(same, 0, 30)));
}

TEST(Timegan, RoundTrips) {
  const Folder folder;
  const std::string path = folder / "m.tessera";
  for (const Cell cell : {Cell::gru, Cell::gru_reset_before, Cell::lstm}) {
    FitOptions o = of_visits(5);
    o.as<TimeganConfig>().cell = cell;
    o.as<TimeganConfig>().layers = 2;
    const Model m = fit(visits(60), o);
    m.save(path, true);
    const Model read = Model::load(path);
    EXPECT_EQ(lines(rows_of(m, 0, 20)), lines(rows_of(read, 0, 20)));
    EXPECT_EQ(m.describe()["encoder"].dump(), read.describe()["encoder"].dump());
    EXPECT_EQ(read.describe()["config"]["cell"], cell_name(cell));
  }
}

TEST(Timegan, ResumesToTheSameBits) {
  const Folder folder;
  const std::string path = folder / "m.checkpoint";
  const Table real = visits(60);
  FitOptions o = of_visits(30);
  const Table whole = rows_of(fit(real, o), 0, 20);
  o.checkpoint.path = path;
  for (const int64_t stop : {10, 30, 45, 75}) {  // inside each phase, and between two
    Monitor impatient;
    std::atomic<bool> cancel{false};
    impatient.cancel = &cancel;
    int64_t before = 0;
    std::string phase;
    impatient.on_progress = [&](const Progress& p) {
      if (p.unit != std::string("steps")) return;
      if (phase != p.phase) before += phase.empty() ? 0 : 30, phase = p.phase;
      if (before + static_cast<int64_t>(p.done) >= stop) cancel = true;
    };
    Team team(2);
    try {
      (void)Model::fit(Table(real), o, team, impatient);
    } catch (const Error& e) { EXPECT_EQ(e.code(), ErrorCode::cancelled); }
    FitOptions on = o;
    on.checkpoint.resume = true;
    EXPECT_EQ(lines(whole), lines(rows_of(fit(real, on), 0, 20))) << "stopped after " << stop;
  }
}

TEST(Timegan, StopsOnHeldOutSequences) {
  const Folder folder;
  const std::string path = folder / "m.checkpoint";
  const Table real = visits(100);
  FitOptions o = of_visits(30);
  o.as<TimeganConfig>().joint_iterations = 2000;
  o.as<TimeganConfig>().learning_rate = 1e-2;
  o.patience = 1, o.keep_best = true;
  const Model whole = fit(real, o);
  const nlohmann::json provenance = whole.describe()["provenance"], held = provenance["held_out"];
  EXPECT_EQ(held["rows"], 20);
  EXPECT_GT(held["best"].get<double>(), 0);
  EXPECT_LE(held["best"].get<double>(), held["last"].get<double>());
  EXPECT_GT(held["best_step"].get<int64_t>(), 60) << "measured in the joint phase";
  EXPECT_LE(held["best_step"].get<int64_t>(), provenance["steps"].get<int64_t>());
  EXPECT_EQ(provenance.value("stopped", ""), "patience");
  EXPECT_LT(provenance["steps"].get<int64_t>(), 2060);

  o.checkpoint.path = path;
  std::atomic<bool> cancel{false};
  Monitor impatient;
  impatient.cancel = &cancel;
  impatient.on_progress = [&](const Progress& p) {
    if (p.phase == std::string("joint") && p.done >= 150) cancel = true;
  };
  Team team(2);
  EXPECT_THROW((void)Model::fit(Table(real), o, team, impatient), Error);
  o.checkpoint.resume = true;
  EXPECT_EQ(fit(real, o).bytes(), whole.bytes());

  FitOptions few = of_visits(3);
  few.keep_best = true;
  EXPECT_THROW((void)fit(visits(60), few), Error);
}

TEST(Timegan, EndsEachPhaseWhenTimeIsUp) {
  const Folder folder;
  const std::string path = folder / "m.checkpoint";
  const Table real = visits(60);
  FitOptions o = of_visits(1000000);
  o.max_seconds = 2;
  o.checkpoint.path = path;
  std::map<std::string, Progress> last;
  std::atomic<bool> cancel{false};
  Monitor monitor;
  monitor.cancel = &cancel;
  monitor.on_progress = [&](const Progress& p) {
    if (p.unit == std::string("steps")) last[p.phase] = p;
    if (p.phase == std::string("joint")) cancel = true;
  };
  Team team(2);
  EXPECT_THROW((void)Model::fit(Table(real), o, team, monitor), Error);
  ASSERT_EQ(last.size(), 3u);
  for (const char* phase : {"embedding", "supervised"}) {
    EXPECT_TRUE(last[phase].finished && last[phase].done > 0 && last[phase].done == last[phase].total) << phase;
    EXPECT_NE(last[phase].note.find("time is up: "), std::string::npos) << last[phase].note;
  }
  const double joint = last["joint"].done;
  EXPECT_FALSE(last["joint"].finished);

  cancel = false, last.clear();
  o.checkpoint.resume = true;
  monitor.on_progress = [&](const Progress& p) {
    if (p.unit == std::string("steps")) last[p.phase] = p;
  };
  const Model m = Model::fit(Table(real), o, team, monitor);
  ASSERT_EQ(last.size(), 1u) << "what the first run passed is not trained again";
  EXPECT_TRUE(last["joint"].finished);
  EXPECT_GT(last["joint"].done, joint);
  const nlohmann::json provenance = m.describe()["provenance"];
  EXPECT_EQ(provenance["stopped"], "max-time");
  EXPECT_GT(provenance["steps"].get<double>(), last["joint"].done);
  EXPECT_LT(provenance["steps"].get<int64_t>(), 1000000);
  EXPECT_GT(rows_of(m, 0, 10).rows, 0);
}

TEST(Timegan, RejectsOptionsOfRows) {
  const Model m = fit(visits(30), of_visits(0));
  EXPECT_EQ(m.describe()["provenance"]["steps"], 0);
  Team team(1);
  SampleOptions calibrate;
  calibrate.calibrate = Tier::full;
  const Thrown t = thrown([&] { (void)m.sample(0, 5, calibrate, team, Monitor{}); });
  EXPECT_EQ(t.code, ErrorCode::usage);
  EXPECT_TRUE(t.says("sequence")) << t.message;
}

}  // namespace
}  // namespace tessera::whole
