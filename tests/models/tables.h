// Small tables, quick fits and whole samples, for tests of the whole model.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/math/philox.h"
#include "models/ctgan/options.h"
#include "models/made/options.h"
#include "models/model/model.h"
#include "models/timegan/options.h"
#include "models/tvae/options.h"
#include "support/folder.h"

namespace tessera::whole {

// Uniform in (0, 1) by row and stream, independent of the library's draws.
inline double uniform(int64_t row, uint32_t stream = 0) {
  const Philox p = philox(static_cast<uint32_t>(row), stream, 7, 0, 17, 19);
  return open_uniform(p.word[0], p.word[1]);
}
inline double normal(int64_t row, uint32_t stream = 0) {
  return std::sqrt(-2 * std::log(uniform(row, 2 * stream + 1000))) *
         std::cos(6.283185307179586 * uniform(row, 2 * stream + 1001));
}

inline Column numbers(const std::string& name, ColumnType type, std::vector<double> values, int decimals = 0) {
  Column c;
  c.name = name, c.type = type, c.decimals = decimals, c.numbers = std::move(values);
  if (type == ColumnType::date) c.format = "%Y-%m-%d";
  if (type == ColumnType::datetime) c.format = "%Y-%m-%d %H:%M:%S";
  return c;
}

// The empty text is missing.
inline Column texts(const std::string& name, ColumnType type, const std::vector<std::string>& rows) {
  Column c;
  c.name = name, c.type = type;
  std::map<std::string, int32_t> known;
  for (const std::string& r : rows) {
    const auto [entry, fresh] = known.try_emplace(r, r.empty() ? -1 : static_cast<int32_t>(c.values.size()));
    if (fresh && !r.empty()) c.values.push_back(r);
    c.codes.push_back(entry->second);
  }
  return c;
}

// Columns made row by row; the digits of decimals come before the value, as a lambda is read best at the end.
template <class F>
Column numbers_by(const std::string& name, ColumnType type, int64_t rows, F value, int decimals = 0) {
  std::vector<double> v;
  for (int64_t i = 0; i < rows; ++i) v.push_back(static_cast<double>(value(i)));
  return numbers(name, type, std::move(v), decimals);
}
template <class F>
Column whole_by(const std::string& name, int64_t rows, F value) {
  return numbers_by(name, ColumnType::integer, rows, value);
}
template <class F>
Column decimals_by(const std::string& name, int64_t rows, int decimals, F value) {
  return numbers_by(name, ColumnType::decimal, rows, value, decimals);
}
template <class F>
Column dates_by(const std::string& name, int64_t rows, F value) {
  return numbers_by(name, ColumnType::date, rows, value);
}
template <class F>
Column times_by(const std::string& name, int64_t rows, F value) {
  return numbers_by(name, ColumnType::datetime, rows, value);
}
template <class F>
Column texts_by(const std::string& name, ColumnType type, int64_t rows, F value) {
  std::vector<std::string> v;
  for (int64_t i = 0; i < rows; ++i) v.push_back(value(i));
  return texts(name, type, v);
}
template <class F>
Column texts_by(const std::string& name, int64_t rows, F value) {
  return texts_by(name, ColumnType::category, rows, value);
}

inline Table table(std::vector<Column> columns) {
  Table t;
  t.rows = columns.front().size();
  t.columns = std::move(columns);
  return t;
}

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

// The code and message of the error that a call throws; fails the test if it throws none or another exception.
struct Thrown {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  bool says(const std::string& part) const { return message.find(part) != std::string::npos; }
};
template <class F>
Thrown thrown(F call) {
  try {
    call();
  } catch (const Error& e) { return {e.code(), e.what()}; } catch (const std::exception& e) {
    ADD_FAILURE() << "not an Error: " << e.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

using test::Folder, test::read_bytes, test::write_bytes;

// The file of a model as users save it.
inline std::string file_of(const Model& m) {
  const Folder folder;
  m.save(folder / "model", false);
  return read_bytes(folder / "model");
}

}  // namespace tessera::whole
