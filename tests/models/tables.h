// Small tables, quick fits and whole samples, for tests of the whole model.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "models/ctgan/options.h"
#include "models/made/options.h"
#include "models/model/model.h"
#include "models/timegan/options.h"
#include "models/tvae/options.h"
#include "support/columns.h"
#include "support/folder.h"
#include "support/thrown.h"

namespace tessera::whole {

using namespace columns;

// The cell as text, "" for missing; numbers with all their digits.
inline std::string cell(const Column& c, int64_t row) {
  const auto i = static_cast<size_t>(row);
  if (c.is_missing(row)) return "";
  if (!is_numeric(c.type)) return c.values[static_cast<size_t>(c.codes[i])];
  std::ostringstream out;
  out.precision(17);
  out << c.numbers[i];
  return out.str();
}

inline std::vector<std::string> lines(const Table& t) {
  std::vector<std::string> out(static_cast<size_t>(t.rows));
  for (const Column& c : t.columns)
    for (int64_t i = 0; i < t.rows; ++i) out[static_cast<size_t>(i)] += cell(c, i) + "|";
  return out;
}

// Identifiers depend on the condition, everything else of a row does not.
inline Table without(Table t, const std::string& name) {
  std::erase_if(t.columns, [&](const Column& c) { return c.name == name; });
  return t;
}

inline Column letters(const std::string& name, int64_t rows, int kinds) {
  return texts_by(name, rows, [&](int64_t i) { return std::string(1, static_cast<char>('a' + i % kinds)); });
}
inline Column reals(const std::string& name, int64_t rows, uint32_t stream = 0) {
  return decimals_by(name, rows, 2, [&](int64_t i) { return std::nearbyint(100 * normal(i, stream)) / 100; });
}

inline const Column& column(const Table& t, const std::string& name) {
  const Column* c = t.find(name);
  if (c == nullptr) throw std::out_of_range("no column " + name);
  return *c;
}

inline double number(const Table& t, const std::string& name, int64_t row) {
  return column(t, name).numbers[static_cast<size_t>(row)];
}
inline std::string text(const Table& t, const std::string& name, int64_t row) { return cell(column(t, name), row); }

// Share of the rows for which it holds.
template <class F>
double share(const Table& t, F holds) {
  int64_t n = 0;
  for (int64_t i = 0; i < t.rows; ++i) n += holds(i);
  return static_cast<double>(n) / static_cast<double>(t.rows);
}

// Sets an option of the method by its key.
inline void set(FitOptions& o, const std::string& key, const std::string& value) {
  for (const Option& option : o.config->options())
    if (key == option.key) return option.set(value);
  throw std::out_of_range("no option " + key);
}

// A fit of seconds: small networks that learn in large steps, unpacked; not calibrated unless the test says so.
inline FitOptions quick(int epochs, int batch = 200, const std::string& preset = "best") {
  FitOptions o;
  o.method = "ctgan";
  o.preset = preset;
  apply_preset(o);
  o.calibrate = Tier::off;
  CtganConfig& c = o.as<CtganConfig>();
  c.epochs = epochs;
  c.batch = batch;
  c.pac = 1;
  c.learning_rate = 3e-3;
  c.embedding_dim = 32;
  c.generator_dim = {64, 64};
  c.discriminator_dim = {64, 64};
  return o;
}

inline FitOptions quick_tvae(int epochs, int batch = 200, const std::string& preset = "best") {
  FitOptions o;
  o.method = "tvae";
  o.preset = preset;
  apply_preset(o);
  o.calibrate = Tier::off;
  TvaeConfig& c = o.as<TvaeConfig>();
  c.epochs = epochs;
  c.batch = batch;
  c.learning_rate = 3e-3;
  c.embedding_dim = 16;
  c.encoder_dim = {64, 64};
  c.decoder_dim = {64, 64};
  return o;
}

inline FitOptions quick_made(int epochs, const std::string& preset = "best") {
  FitOptions o;
  o.method = "made";
  o.preset = preset;
  apply_preset(o);
  MadeConfig& c = o.as<MadeConfig>();
  c.epochs = epochs, c.batch = 100, c.hidden = 64, c.learning_rate = 5e-3;
  o.patience = 0, o.patience_if_possible = false;
  return o;
}

// A small TimeGAN.
struct QuickSequences {
  int length;
  const char *iterations, *hidden, *batch;
};

// A few steps of any method, without the stages after training: population statistics, a prior.
inline FitOptions quick_of(const std::string& method, const QuickSequences& sequences) {
  FitOptions o = method == "ctgan"  ? quick(1, 100, "paper")
                 : method == "tvae" ? quick_tvae(1, 100, "paper")
                                    : quick_made(1);
  if (method == "timegan") {
    o = FitOptions();
    o.method = method;
    apply_preset(o);
    o.sequences.length = sequences.length;
    set(o, "iterations", sequences.iterations);
    set(o, "hidden_dim", sequences.hidden);
    set(o, "batch_size", sequences.batch);
  }
  o.calibrate = Tier::off;
  return o;
}

inline Model fit(Table t, const FitOptions& o, int threads = 1) {
  Team team(threads);
  return Model::fit(std::move(t), o, team, Monitor{});
}

// All rows of the stream as one table.
inline Table drain(RowStream& stream, const Table& schema) {
  std::vector<std::vector<std::string>> cells(schema.columns.size());
  Table all = schema, batch;
  while (stream.next(batch)) {
    if (batch.columns.size() != all.columns.size())
      throw std::runtime_error("a batch has other columns than the schema");
    for (size_t c = 0; c < all.columns.size(); ++c) {
      auto& to = all.columns[c].numbers;
      to.insert(to.end(), batch.columns[c].numbers.begin(), batch.columns[c].numbers.end());
      for (int64_t i = 0; i < batch.rows && !is_numeric(all.columns[c].type); ++i)
        cells[c].push_back(cell(batch.columns[c], i));
    }
    all.rows += batch.rows;
  }
  for (size_t c = 0; c < all.columns.size(); ++c)
    if (!is_numeric(all.columns[c].type)) {
      Column joined = texts(all.columns[c].name, all.columns[c].type, cells[c]);
      all.columns[c].codes = std::move(joined.codes);
      all.columns[c].values = std::move(joined.values);
    }
  return all;
}

struct Slice {
  int64_t offset = 0;
  int threads = 1;
};

inline Table sample(const Model& m, int64_t count, const SampleOptions& o = {}, const Slice& s = {},
                    SampleReport* report = nullptr) {
  Team team(s.threads);
  const Monitor monitor;
  const auto stream = m.sample(s.offset, count, o, team, monitor);
  Table t = drain(*stream, m.schema());
  if (report != nullptr) *report = stream->report();
  return t;
}

inline SampleOptions where(const std::string& text, int max_tries = 1000) {
  SampleOptions o;
  o.where = text;
  o.max_tries = max_tries;
  return o;
}

using test::Folder, test::read_bytes, test::write_bytes, test::Thrown, test::thrown;

// The file of a model as users save it.
inline std::string file_of(const Model& m) {
  const Folder folder;
  m.save(folder / "model", false);
  return read_bytes(folder / "model");
}

}  // namespace tessera::whole
