#include "models/prior/files.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/storage/files.h"
#include "models/prior/draw_each.h"
#include "tables/arrow/export.h"
#include "tables/files/table_file.h"
#include "tables/kinds/kind.h"

namespace tessera::prior {
namespace {

constexpr int64_t kBatch = 256;  // tables per .pt file, and per round of the team in any format

// The header of NumPy's format 1.0.
std::string npy_header(const std::string& shape) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr size_t kBefore = 10, kLine = 64;
  text.append(kLine - (kBefore + text.size() + 1) % kLine, ' ');
  text += '\n';
  const auto size = static_cast<uint16_t>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(size & 0xFF) + static_cast<char>(size >> 8) + text;
}

void write_npy(const std::string& path, const std::string& shape, const std::vector<float>& values) {
  AtomicFile file(path, true, false);
  file.write(npy_header(shape));
  file.write({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  file.commit();
}

void write_csv(const std::string& path, const PriorTable& t) {
  std::string out;
  for (int64_t j = 0; j < t.features; ++j) out += fmt::format("x{},", j + 1);
  out += "y\n";
  char digits[32];
  const auto put = [&](float v, char end) {
    if (!std::isnan(v))  // the shortest that reads back the same
      out.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
    out += end;
  };
  for (size_t i = 0; i < t.y.size(); ++i) {
    for (int64_t j = 0; j < t.features; ++j)
      put(t.x[i * static_cast<size_t>(t.features) + static_cast<size_t>(j)], ',');
    put(t.y[i], '\n');
  }
  AtomicFile file(path, true, false);
  file.write(out);
  file.commit();
}

void write_parquet(const std::string& path, const PriorTable& t) {
  Table out;
  out.rows = t.rows;
  const auto add = [&](const std::string& name, size_t first, size_t step, const std::vector<float>& values,
                       bool whole) {
    Column c;
    c.name = name;
    become_count(c, whole ? 0 : kAllDigits);
    if (!whole) c.arrow = "f";
    for (size_t i = first; i < values.size(); i += step) c.numbers.push_back(static_cast<double>(values[i]));
    out.columns.push_back(std::move(c));
  };
  const auto features = static_cast<size_t>(t.features);
  for (size_t j = 0; j < features; ++j) add(fmt::format("x{}", j + 1), j, features, t.x, false);
  add("y", 0, 1, t.y, !t.class_rows.empty());
  ArrowArrayStream rows{};
  table_export(std::move(out), &rows);
  write_arrow_file(&rows, path, true);
}

std::string episode(const Output& output, int64_t table) {
  return fmt::format("{}/episode_{:06d}", output.folder, table + 1);
}
// The file that is written last for table `first`, or for the batch that begins with it.
std::string last_file(const Output& output, int64_t first, int64_t batch) {
  if (output.format == Format::pt) return fmt::format("{}/batch_{:06d}.pt", output.folder, first / batch);
  return episode(output, first) + (output.format == Format::npy
                                       ? std::string("_meta.json")
                                       : fmt::format(".{}", kFormats[static_cast<int>(output.format)]));
}

void write_table(const Output& output, const PriorTable& t) {
  const std::string path = episode(output, t.index);
  if (output.format == Format::csv) return write_csv(path + ".csv", t);
  if (output.format == Format::parquet) return write_parquet(path + ".parquet", t);
  write_npy(path + "_X.npy", fmt::format("{}, {}", t.rows, t.features), t.x);
  write_npy(path + "_y.npy", fmt::format("{},", t.rows), t.y);
  AtomicFile file(path + "_meta.json", true, false);
  file.write(to_json(t).dump(1) + "\n");
  file.commit();
}

// The part of a table that a report needs, so that the table itself can be freed.
struct Brief {
  int64_t features, classes;
  int32_t attempts;
  bool tree;
  double imbalance;
};
Brief brief(const PriorTable& t) {
  const auto [low, high] = std::minmax_element(t.class_rows.begin(), t.class_rows.end());
  return {t.features, static_cast<int64_t>(t.class_rows.size()), t.attempts, t.settings.kind == Kind::tree,
          t.class_rows.empty() ? 0 : static_cast<double>(*high) / static_cast<double>(*low)};
}

// How informative a feature is about the target: the share of its variance between classes, or the squared correlation.
double association(const PriorTable& t, int64_t feature) {
  const auto x = [&](size_t i) {
    return static_cast<double>(t.x[i * static_cast<size_t>(t.features) + static_cast<size_t>(feature)]);
  };
  const size_t groups = std::max<size_t>(t.class_rows.size(), 1);
  std::vector<double> rows(groups, 0), sums(groups, 0);
  double n = 0, sum = 0, squares = 0, y_sum = 0, y_squares = 0, product = 0, between = 0;
  for (size_t i = 0; i < t.y.size(); ++i) {
    const double v = x(i), y = static_cast<double>(t.y[i]);
    if (std::isnan(v)) continue;
    const size_t group = t.class_rows.empty() ? 0 : static_cast<size_t>(t.y[i]);
    rows[group] += 1, sums[group] += v;
    n += 1, sum += v, squares += v * v, y_sum += y, y_squares += y * y, product += v * y;
  }
  const double variance = squares - sum * sum / n, y_variance = y_squares - y_sum * y_sum / n;
  if (!(variance > 0)) return 0;
  const double covariance = product - sum * y_sum / n;
  if (t.class_rows.empty()) return y_variance > 0 ? covariance * covariance / (variance * y_variance) : 0;
  for (size_t k = 0; k < groups; ++k) between += rows[k] > 0 ? sums[k] * sums[k] / rows[k] : 0;
  return (between - sum * sum / n) / variance;
}

// A table as points in the two features most informative about the target.
nlohmann::json example_of(const PriorTable& t) {
  constexpr size_t kPoints = 300;
  std::vector<std::pair<double, int64_t>> order;
  for (int64_t j = 0; j < t.features; ++j) order.emplace_back(-association(t, j), j);
  std::sort(order.begin(), order.end());
  const int64_t a = order.front().second, b = order[order.size() > 1 ? 1 : 0].second;
  nlohmann::json points = nlohmann::json::array();
  for (size_t i = 0; i < t.y.size() && points.size() < kPoints; ++i) {
    const float u = t.x[i * static_cast<size_t>(t.features) + static_cast<size_t>(a)],
                v = t.x[i * static_cast<size_t>(t.features) + static_cast<size_t>(b)];
    if (!std::isnan(u) && !std::isnan(v)) points.push_back({u, v, t.y[i]});
  }
  return {{"table", t.index},
          {"kind", to_json(t.settings)["kind"]},
          {"rows", t.rows},
          {"features", t.features},
          {"classes", t.class_rows.size()},
          {"x", a + 1},
          {"y", b + 1},
          {"points", std::move(points)}};
}

nlohmann::json summary(const std::vector<Brief>& all) {
  nlohmann::json out{{"tables", all.size()}};
  if (all.empty()) return out;
  int64_t attempts = 0, features = 0, trees = 0;
  std::map<int64_t, int64_t> classes;
  std::vector<double> imbalance;
  for (const Brief& b : all) {
    attempts += b.attempts, features += b.features, trees += b.tree ? 1 : 0;
    if (b.classes == 0) continue;
    ++classes[b.classes];
    imbalance.push_back(b.imbalance);
  }
  const auto n = static_cast<double>(all.size());
  out["attempts"] = attempts;
  out["rejected_share"] = 1 - n / static_cast<double>(attempts);
  out["features"] = static_cast<double>(features) / n;
  out["trees_share"] = static_cast<double>(trees) / n;
  if (imbalance.empty()) return out;
  for (const auto& [k, count] : classes) out["classes"].push_back({{"classes", k}, {"tables", count}});
  std::sort(imbalance.begin(), imbalance.end());
  out["imbalance"] = {
      {"min", imbalance.front()}, {"median", imbalance[imbalance.size() / 2]}, {"max", imbalance.back()}};
  return out;
}

class TableCount {
 public:
  TableCount(int64_t done, int64_t total, const Monitor& monitor)
      : done_(static_cast<double>(done)), total_(static_cast<double>(total)), monitor_(monitor) {}
  void add(double tables) {
    const std::lock_guard lock(mutex_);
    done_ += tables;
    monitor_.report({"tables", done_, total_, "tables", "", done_ == total_});
  }

 private:
  double done_, total_;
  const Monitor& monitor_;
  std::mutex mutex_;
};

void check_count(int64_t tables) {
  if (tables < 1 || tables > INT64_C(1) << 32)
    throw Error(ErrorCode::usage, fmt::format("tables {}: it must be 1 to {}.", tables, INT64_C(1) << 32));
}

// Rejects a folder with tables of other options; otherwise records these options there.
void claim_folder(const Options& options, const Output& output, int64_t batch) {
  std::error_code error;
  std::filesystem::create_directories(output.folder, error);
  if (error)
    throw Error(ErrorCode::io, fmt::format("{}: cannot create the folder: {}.", output.folder, error.message()));
  nlohmann::json metadata = to_json(options);
  metadata["format"] = kFormats[static_cast<int>(output.format)];
  metadata["tables"] = output.tables;
  metadata["batch_size"] = batch;
  const std::string path = output.folder + "/metadata.json", text = metadata.dump(1) + "\n";
  if (!file_exists(path)) return write_file(path, text, true);
  const std::string found = read_file(path, 1 << 20);
  if (found == text) return;
  const auto other = nlohmann::json::parse(found, nullptr, false);
  std::string changed;
  for (const auto& [key, value] : metadata.items())
    if (!other.is_object() || !other.contains(key) || other[key] != value)
      changed += (changed.empty() ? "" : ", ") + key;
  throw Error(ErrorCode::usage,
              fmt::format("{} describes tables of other options ({}).\n  Choose another folder, or repeat the options "
                          "of this folder to continue it.",
                          path, changed.empty() ? "those of another release" : changed));
}

int64_t tables_of_batch(const Options& o, Format format) {
  if (format != Format::pt) return 1;
  constexpr int64_t kBytes = INT64_C(1) << 31;  // offsets in a zip archive have 32 bits
  const int64_t table = o.rows.high * (o.features.high + 1) * static_cast<int64_t>(sizeof(float));
  return std::max<int64_t>(1, std::min(kBatch, kBytes / table));
}

}  // namespace

std::vector<PriorTable> draw_tables(const Options& options, int64_t first, int64_t count, Team& team, Device* device) {
  check_options(options);
  if (first < 0 || count < 0 || first > (INT64_C(1) << 32) - count)
    throw Error(ErrorCode::usage, fmt::format("Tables {} to {} of a prior: table numbers range from 0 to {}.", first,
                                              first + count, (INT64_C(1) << 32) - 1));
  std::vector<PriorTable> tables(static_cast<size_t>(count));
  draw_each(
      options, count, [=](int64_t i) { return first + i; }, team, device,
      [&](int64_t i, PriorTable&& t) { tables[static_cast<size_t>(i)] = std::move(t); });
  return tables;
}

nlohmann::json describe_tables(const Options& options, int64_t tables, Team& team, const Monitor& monitor,
                               Device* device) {
  check_options(options);
  check_count(tables);
  constexpr int64_t kExamples = 12;
  std::vector<Brief> briefs(static_cast<size_t>(tables));
  std::vector<nlohmann::json> examples(static_cast<size_t>(std::min(tables, kExamples)));
  TableCount counter(0, tables, monitor);
  const auto number = [](int64_t i) { return i; };
  draw_each(options, tables, number, team, device, [&](int64_t i, PriorTable&& t) {
    briefs[static_cast<size_t>(i)] = brief(t);
    if (i < kExamples) examples[static_cast<size_t>(i)] = example_of(t);
    counter.add(1);
  });
  nlohmann::json out = summary(briefs);
  out["examples"] = std::move(examples);
  return out;
}

nlohmann::json write_tables(const Options& options, const Output& output, Team& team, const Monitor& monitor,
                            Device* device) {
  check_options(options);
  check_count(output.tables);
  if (output.parts < 1 || output.part < 0 || output.part >= output.parts)
    throw Error(ErrorCode::usage, fmt::format("part {}/{}: parts are numbered from 0: 0/8 is the first of eight.",
                                              output.part, output.parts));
  if (output.format == Format::pt && options.rows.low != options.rows.high)
    throw Error(ErrorCode::usage,
                "rows: all tables of a .pt file need the same number of rows.\n  Give one number, or write "
                "tables of different lengths as npy, csv or parquet.");
  const int64_t batch = tables_of_batch(options, output.format), files = (output.tables + batch - 1) / batch;
  claim_folder(options, output, batch);
  const auto first_of = [&](int64_t part) {  // the first parts take the remainder
    return files / output.parts * part + std::min(part, files % output.parts);
  };
  const int64_t begin = first_of(output.part), end = first_of(output.part + 1);
  std::vector<int64_t> missing;  // the first table of each file
  for (int64_t f = begin; f < end; ++f)
    if (!file_exists(last_file(output, f * batch, batch))) missing.push_back(f * batch);
  const int64_t total = std::min(end * batch, output.tables) - std::min(begin * batch, output.tables);
  const auto tables_from = [&](int64_t first) { return std::min(batch, output.tables - first); };
  int64_t left = 0;
  for (const int64_t first : missing) left += tables_from(first);
  std::vector<Brief> briefs;
  TableCount counter(total - left, total, monitor);
  counter.add(0);
  if (output.format == Format::pt) {
    for (const int64_t first : missing) {
      std::vector<PriorTable> tables(static_cast<size_t>(tables_from(first)));
      const auto number = [=](int64_t i) { return first + i; };
      draw_each(options, tables_from(first), number, team, device, [&](int64_t i, PriorTable&& t) {
        tables[static_cast<size_t>(i)] = std::move(t);
        counter.add(1);
      });
      AtomicFile file(last_file(output, first, batch), true);
      TorchBatch(tables).write([&](std::string_view bytes) { file.write(bytes); });
      file.commit();
      for (const PriorTable& t : tables) briefs.push_back(brief(t));
    }
  } else {
    briefs.resize(missing.size());
    const auto number = [&](int64_t i) { return missing[static_cast<size_t>(i)]; };
    draw_each(options, static_cast<int64_t>(missing.size()), number, team, device, [&](int64_t i, PriorTable&& t) {
      write_table(output, t);
      briefs[static_cast<size_t>(i)] = brief(t);
      counter.add(1);
    });
  }
  nlohmann::json out = summary(briefs);
  out["output"] = output.folder;
  out["kept"] = total - left;
  return out;
}

}  // namespace tessera::prior
