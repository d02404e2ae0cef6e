// The attacks of tests/privacy at full size: fits a model of a table, attacks it with unseen rows, and prints one line
// per attack.
//   bench_privacy tvae|ctgan TRAIN.csv UNSEEN.csv KNOWN,COLUMNS SECRET [epochs] [rows]     half of the unseen rows are
//   the held-out ones, half are the attacker's reference bench_privacy timegan TABLE.csv STEPS KNOWN,COLUMNS SECRET
//       [iterations]                 the table cut into blocks of this many rows: of four, two are learned, one is held
//       out
// Threads: all; seed 1.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "models/tables.h"
#include "privacy/attacks/likelihood.h"
#include "privacy/attacks/linkage.h"
#include "privacy/attacks/reconstruction.h"
#include "privacy/attacks/rows.h"
#include "privacy/attacks/secrets.h"
#include "tables/csv/reader.h"

namespace {

using namespace tessera;
using namespace tessera::privacy;

Table read(const std::string& path, Team& team) {
  CsvOptions o;
  o.path = path;
  return csv_read(o, team, {});
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

FitOptions defaults(const std::string& method, int length) {
  FitOptions o;
  o.method = method;
  apply_preset(o);
  o.seed = 1;
  if (length > 0)
    for (const Option& option : o.config->options())
      if (option.name() == (o.config.method().sequences() ? "--iterations" : "--epochs"))
        option.set(std::to_string(length));
  return o;
}

void line(const std::string& attack, const std::string& statistic, const Interval& i) {
  fmt::print("| {} | {} | {:.3f} | {:.3f} … {:.3f} |\n", attack, statistic, i.value, i.low, i.high);
}

void membership(const char* attack, const Scores& s) {
  if (s.members.empty()) return;
  line(attack, "area under the ROC curve", s.area());
  const Rate found = members_found(s.members, s.held_out, 0.001);
  line(attack, "members found at 0.1 % false positives", wilson(found.hits, found.trials));
}

void report_bytes(const Table& members, const Table& held_out, const Model& model, const Table& sampled) {
  const std::vector<Secret> secrets = secrets_of(members, 9), controls = without(secrets_of(held_out, 9), members);
  fmt::print("| bytes | secrets in the file, of {} | {} | |\n", secrets.size(),
             found_in(ModelFile(model.bytes()), secrets).size());
  fmt::print("| bytes | secrets among sampled rows, of {}; values never seen, of {} | {}; {} | |\n", secrets.size(),
             controls.size(), found_among(sampled, secrets), found_among(sampled, controls));
}

// Both sides have the same number of rows, so that the result does not depend on it.
void attack(const Split& all, const Table& sampled, const LinkageOptions& known) {
  const int64_t rows = std::min(all.members->rows, all.held_out->rows);
  const Table members = rows_between(*all.members, 0, rows), held_out = rows_between(*all.held_out, 0, rows);
  const Split split{&members, &held_out, all.reference};
  const Copies c =
      copies(split, rows_between(sampled, 0, std::min(sampled.rows, std::max<int64_t>(2000, split.held_out->rows))));
  line("copies", "synthetic rows equal to a member", wilson(c.of_members.hits, c.of_members.trials));
  line("copies", "synthetic rows equal to a held-out row", wilson(c.of_held_out.hits, c.of_held_out.trials));
  line("copies", "nearer to a member than to a held-out row", c.nearer);
  membership("membership by distance", by_distance(split, sampled));
  membership("membership by density ratio", by_density_ratio(split, sampled));
  for (const Attack& a :
       linkage_attacks(split, rows_between(sampled, 0, std::min(sampled.rows, split.members->rows)), known)) {
    line(a.name, "right about members", wilson(a.members.hits, a.members.trials));
    line(a.name, "right about held-out", wilson(a.held_out.hits, a.held_out.trials));
    line(a.name, "excess", a.excess());
  }
}

// Blocks of `steps` rows, numbered in the column "block"; of four, the first and third are members, the second held
// out, the fourth the reference.
Table blocks(const Table& all, int64_t steps, bool (*wanted)(int64_t)) {
  std::vector<Column> out{whole::texts_by("block", ColumnType::identifier, 0, [](int64_t) { return ""; })};
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < all.rows / steps * steps; ++i)
    if (wanted(i / steps % 4)) rows.push_back(i);
  const auto count = static_cast<int64_t>(rows.size());
  out.front() = whole::texts_by("block", ColumnType::identifier, count,
                                [&](int64_t i) { return fmt::format("B{}", rows[static_cast<size_t>(i)] / steps); });
  for (const Column& c : all.columns)
    out.push_back(is_numeric(c.type)
                      ? whole::numbers_by(
                            c.name, c.type, count,
                            [&](int64_t i) { return c.numbers[static_cast<size_t>(rows[static_cast<size_t>(i)])]; },
                            c.decimals)
                      : whole::texts_by(c.name, c.type, count,
                                        [&](int64_t i) { return whole::cell(c, rows[static_cast<size_t>(i)]); }));
  return whole::table(std::move(out));
}

// One row per block, with every column once per step: "Open.0", "Open.1", …
Table wide(const Table& rows, int64_t steps) {
  std::vector<Column> out;
  for (const Column& c : rows.columns) {
    if (c.name == "block" || c.name == "step") continue;
    for (int64_t t = 0; t < steps; ++t) {
      const std::string name = fmt::format("{}.{}", c.name, t);
      out.push_back(is_numeric(c.type)
                        ? whole::numbers_by(
                              name, c.type, rows.rows / steps,
                              [&](int64_t i) { return c.numbers[static_cast<size_t>(i * steps + t)]; }, c.decimals)
                        : whole::texts_by(name, c.type, rows.rows / steps,
                                          [&](int64_t i) { return whole::cell(c, i * steps + t); }));
    }
  }
  return whole::table(std::move(out));
}

SampleOptions with_seed(uint64_t seed) {
  SampleOptions o;
  o.seed = seed;
  return o;
}

void head(const std::string& what, const Model& model, double seconds) {
  fmt::print(
      "{}, {:.0f} s of fit, file {} bytes\n\n| attack | statistic | value | 99 % interval |\n|---|---|---|---|\n", what,
      seconds, model.bytes().size());
}

void run_rows(const std::string& method, char** arguments, int count) {
  Team team;
  Table train = read(arguments[0], team);
  const Table unseen = read(arguments[1], team);
  const LinkageOptions known{split_list(arguments[2]), arguments[3], 1000};
  const int64_t rows = count > 5 ? std::min<int64_t>(std::atoll(arguments[5]), train.rows) : train.rows;
  const Table members = rows_between(train, 0, rows), held_out = rows_between(unseen, 0, unseen.rows / 2),
              reference = rows_between(unseen, unseen.rows / 2, unseen.rows);
  const auto begin = std::chrono::steady_clock::now();
  const Model model =
      Model::fit(rows_between(train, 0, rows), defaults(method, count > 4 ? std::atoi(arguments[4]) : 0), team, {});
  head(fmt::format("{}: {} rows of {}", method, rows, arguments[0]), model,
       std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  const Table sampled = whole::sample(model, std::max<int64_t>(rows, 30000), with_seed(7), {0, team.size()});
  const Split split{&members, &held_out, &reference};
  report_bytes(members, held_out, model, sampled);
  attack(split, sampled, known);
  const Table some = rows_between(members, 0, std::min(rows, held_out.rows));
  const Split alike{&some, &held_out, &reference};
  membership("membership by the density ratio's network", by_classifier(alike, model));
  membership("membership by the decoder", by_decoder({&some, &held_out, &reference}, model, 1000));
}

void run_sequences(char** arguments, int count) {
  Team team;
  const Table all = read(arguments[0], team);
  const int64_t steps = std::atoll(arguments[1]);
  const LinkageOptions known{split_list(arguments[2]), arguments[3], 1000};
  FitOptions o = defaults("timegan", count > 4 ? std::atoi(arguments[4]) : 0);
  o.sequences.key = "block";
  const auto begin = std::chrono::steady_clock::now();
  const auto learned = [](int64_t k) { return k % 2 == 0; };
  const Model model = Model::fit(blocks(all, steps, learned), o, team, {});
  const Table members = blocks(all, steps, learned), held_out = blocks(all, steps, [](int64_t k) { return k == 1; }),
              reference = blocks(all, steps, [](int64_t k) { return k == 3; });
  head(fmt::format("timegan: {} blocks of {} rows of {}", members.rows / steps, steps, arguments[0]), model,
       std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  const Table sampled = whole::sample(model, 5000, with_seed(7), {0, team.size()});
  const Table a = wide(members, steps), b = wide(held_out, steps), c = wide(reference, steps);
  report_bytes(members, held_out, model, sampled);
  attack({&a, &b, &c}, wide(sampled, steps), known);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    fmt::print(stderr,
               "usage: bench_privacy tvae|ctgan TRAIN.csv UNSEEN.csv KNOWN,COLUMNS SECRET [epochs] [rows]\n       "
               "bench_privacy timegan TABLE.csv STEPS KNOWN,COLUMNS SECRET [iterations]\n");
    return 2;
  }
  if (std::strcmp(arguments[1], "timegan") == 0) run_sequences(arguments + 2, count - 2);
  else run_rows(arguments[1], arguments + 2, count - 2);
}
