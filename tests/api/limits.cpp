// Every row of docs/use/limits.md, at each of its bounds, one below and one above.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tessera/tessera.hpp"

namespace {

namespace fs = std::filesystem;

// --- the result for an input of size n ---

std::string outcome(tessera_status status) {
  const std::map<tessera_status, const char*> names{
      {TESSERA_OK, "done"}, {TESSERA_E_USAGE, "usage"}, {TESSERA_E_DATA, "data"}};
  const auto known = names.find(status);
  return known != names.end() ? known->second : "status " + std::to_string(status) + ": " + tessera_last_error();
}

template <class Call>
std::string outcome_of(Call call) {
  try {
    call();
    return "done";
  } catch (const tessera::Error& e) { return outcome(e.status()); }
}

struct File {
  explicit File(const std::string& bytes) {
    std::string name = (fs::temp_directory_path() / "tessera_limits_XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    if (fd >= 0) ::close(fd);
    path = name;
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~File() { fs::remove(path); }
  std::string path;
};

std::string read_csv(const std::string& bytes) {
  const File file(bytes);
  const tessera::Context context;
  return outcome_of([&] { (void)tessera::read_csv(context, file.path.c_str()); });
}

// The detected type of the first column.
std::string type_of(const std::string& csv) {
  const File file(csv);
  const tessera::Context context;
  return nlohmann::json::parse(
      tessera::inspect(context, tessera::read_csv(context, file.path.c_str())))["columns"][0]["type"];
}

std::string fit_options(const std::function<void(tessera_fit_options&)>& change) {
  tessera_fit_options o{};
  o.struct_size = sizeof o;
  change(o);
  return outcome(tessera_check_fit_options(&o));
}
// For options where 0 means the default: if the minimum is 1, the command line itself rejects 0
// (CliErrors.ZeroIsNotADefault), and −1 is tried as the value below.
int32_t zero_below(int64_t n) { return static_cast<int32_t>(n == 0 ? -1 : n); }

std::string timegan(
    const std::function<void(tessera_fit_options&)>& change,
    const std::function<void(tessera_sequence_options&)>& cut = [](auto&) {}) {
  tessera_sequence_options s{};
  s.struct_size = sizeof s, s.length = 24;
  cut(s);
  return fit_options([&](tessera_fit_options& o) {
    o.method = "timegan", o.sequences = &s;
    change(o);
  });
}

std::string with_settings(const std::string& method, const std::string& settings) {
  const auto change = [&](tessera_fit_options& o) { o.method = method.c_str(), o.settings = settings.c_str(); };
  return method == "timegan" ? timegan(change) : fit_options(change);
}
auto setting(const char* name, const char* method) {
  return [=](int64_t n) { return with_settings(method, std::string(name) + "=" + std::to_string(n)); };
}

const tessera::Model& model() {
  static const tessera::Model untrained_model = [] {
    const tessera::Context context;
    tessera_fit_options o{};
    o.settings = "epochs=0";
    return tessera::Model::fit(context, tessera::example(context, "people", 60, 1), o);
  }();
  return untrained_model;
}

// The first batch is generated, not only requested.
std::string sample(
    int64_t offset, int64_t rows, const std::function<void(tessera_sample_options&)>& change = [](auto&) {}) {
  return outcome_of([&] {
    tessera_sample_options o{};
    o.calibrate = "off";
    change(o);
    const tessera::Context context;
    tessera::Rows stream = model().sample(context, offset, rows, o);
    ArrowArray batch{};
    if (stream.get()->get_next(stream.get(), &batch) != 0)
      throw tessera::Error(TESSERA_E_INTERNAL, stream.get()->get_last_error(stream.get()));
    if (batch.release != nullptr) batch.release(&batch);
  });
}

// A stream of one row: n columns of one format, which all have the same buffer.
struct OneRow {
  OneRow(int64_t columns, const char* format, int64_t value)
      : value_(value), names_(static_cast<size_t>(columns)), fields_(names_.size()), arrays_(names_.size()) {
    for (size_t j = 0; j < names_.size(); ++j) {
      names_[j] = "c" + std::to_string(j);
      fields_[j].format = format, fields_[j].name = names_[j].c_str(), fields_[j].flags = ARROW_FLAG_NULLABLE;
      fields_[j].release = [](ArrowSchema* x) { x->release = nullptr; };
      field_pointers_.push_back(&fields_[j]);
      array_pointers_.push_back(&arrays_[j]);
    }
  }
  void open(ArrowArrayStream* out) {
    *out = {schema, next, [](ArrowArrayStream*) -> const char* { return "failed"; },
            [](ArrowArrayStream* s) { s->release = nullptr; }, this};
  }

 private:
  static OneRow& self(ArrowArrayStream* s) { return *static_cast<OneRow*>(s->private_data); }
  static int schema(ArrowArrayStream* s, ArrowSchema* out) {
    *out = {};
    out->format = "+s", out->name = "", out->n_children = static_cast<int64_t>(self(s).fields_.size()),
    out->children = self(s).field_pointers_.data();
    out->release = [](ArrowSchema* x) { x->release = nullptr; };
    return 0;
  }
  static int next(ArrowArrayStream* s, ArrowArray* out) {
    OneRow& me = self(s);
    *out = {};
    if (std::exchange(me.given_, true)) return 0;
    for (ArrowArray& a : me.arrays_) {
      a.length = 1, a.n_buffers = 2, a.buffers = me.buffers_;
      a.release = [](ArrowArray* x) { x->release = nullptr; };
    }
    out->length = 1, out->n_buffers = 1, out->buffers = me.buffers_,
    out->n_children = static_cast<int64_t>(me.arrays_.size()), out->children = me.array_pointers_.data();
    out->release = [](ArrowArray* x) { x->release = nullptr; };
    return 0;
  }

  int64_t value_;
  const void* buffers_[2] = {nullptr, &value_};
  bool given_ = false;
  std::vector<std::string> names_;
  std::vector<ArrowSchema> fields_;
  std::vector<ArrowArray> arrays_;
  std::vector<ArrowSchema*> field_pointers_;
  std::vector<ArrowArray*> array_pointers_;
};

// Its schema is taken, and its row.
std::string read_one(int64_t columns, const char* format, int64_t value) {
  OneRow source(columns, format, value);
  ArrowArrayStream stream;
  source.open(&stream);
  tessera::Context context;
  int64_t rows = 0;
  tessera_column_buffer first{};
  first.struct_size = sizeof first, first.type = TESSERA_FLOAT64;
  double number = 0;
  first.values = &number;
  return outcome(tessera_rows_read(context.get(), &stream, 1, &first, 1, &rows));
}

std::string year(int64_t n, bool last_day) {
  using namespace std::chrono;
  const sys_days day = std::chrono::year(static_cast<int>(n)) / (last_day ? December / 31 : January / 1);
  return read_one(1, "tdD", day.time_since_epoch().count());
}

// A model file of this header alone; `words` of the message say that the limit was met.
std::string header(const std::string& json, const char* words) {
  const uint64_t length = json.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += json;
  tessera_model* none = nullptr;
  if (tessera_model_load_memory(bytes.data(), bytes.size(), &none) != TESSERA_E_FORMAT) return tessera_last_error();
  return std::strstr(tessera_last_error(), words) != nullptr ? "refused" : "parsed";
}

std::string target(int64_t n) {
  std::string csv = "k,x\n";
  for (int64_t i = 0; i < 2 * n; ++i) csv += "v" + std::to_string(i % n) + "," + std::to_string(i) + "\n";
  const File file(csv);
  return outcome_of([&] {
    const tessera::Context context;
    tessera_csv_options types{};
    types.types = "k=category";
    const auto table = [&] { return tessera::read_csv(context, file.path.c_str(), types); };
    tessera_evaluate_options o{};
    o.without_c2st = o.without_distances = 1, o.target = "k";
    (void)tessera::evaluate(context, table(), table(), table(), o);
  });
}

std::string patient(int64_t rows) {
  return outcome_of([&] {
    const tessera::Context context;
    tessera_fit_options o{};
    o.settings = "epochs=1;batch-size=20", o.patience = 1, o.calibrate = "off";
    (void)tessera::Model::fit(context, tessera::example(context, "people", rows, 1), o);
  });
}

std::string context(const std::function<void(tessera_context_options&)>& change) {
  tessera_context_options o{};
  change(o);
  return outcome_of([&] { (void)tessera::Context(o); });
}

// A row that is only too long for the header is rejected too, with another message.
std::string fields(int64_t n) {
  const std::string said = read_csv("a,b\n1,2\n" + std::string(static_cast<size_t>(n - 1), ','));
  return std::strstr(tessera_last_error(), "the first row has 2") != nullptr ? "done" : said;
}

std::string texts(int64_t n) {
  std::string csv = "a,b\n";
  for (int64_t i = 0; i < n; ++i) csv += "t" + std::to_string(i * i + 7) + "x,1\n";
  return type_of(csv);
}

// --- the rows of docs/use/limits.md ---

struct Try {
  const char* what;
  std::function<std::string(int64_t n)> of;
};

const std::vector<Try>& tries() {
  using O = tessera_fit_options;
  static const std::vector<Try> all{
      {"fields of a row of a CSV file", fields},
      {"year of a date or time in Arrow", [](int64_t n) { return year(n, n >= 9000); }},
      {"digits of an integer",
       [](int64_t n) { return type_of("a\n" + std::string(static_cast<size_t>(n), '9') + "\n1\n"); }},
      {"different texts of an identifier", texts},
      {"`--threads`", [](int64_t n) { return context([&](auto& o) { o.threads = zero_below(n); }); }},
      {"`--devices`",
       [](int64_t n) { return fit_options([text = std::to_string(n)](O& o) { o.devices = text.c_str(); }); }},
      {"`--virtual-shards`", [](int64_t n) { return fit_options([&](O& o) { o.virtual_shards = zero_below(n); }); }},
      {"`--memory-limit`, in bytes (0: none)", [](int64_t n) { return context([&](auto& o) { o.memory_limit = n; }); }},
      {"`--epochs`", setting("epochs", "tvae")},
      {"`--batch-size` of `fit`", setting("batch-size", "tvae")},
      {"`--pac`",
       [](int64_t n) {
         return with_settings(
             "ctgan", "pac=" + std::to_string(n) + ";batch-size=" + std::to_string(std::max<int64_t>(2 * n, 2)));
       }},
      {"`--embedding-dim`", setting("embedding-dim", "tvae")},
      {"`--discriminator-steps`", setting("discriminator-steps", "ctgan")},
      {"units of a hidden layer",
       [](int64_t n) {
         const std::string said = setting("encoder-dim", "tvae")(n);
         EXPECT_EQ(said, setting("decoder-dim", "tvae")(n));
         EXPECT_EQ(said, setting("generator-dim", "ctgan")(n));
         EXPECT_EQ(said, setting("discriminator-dim", "ctgan")(n));
         return said;
       }},
      {"hidden layers of a network",
       [](int64_t n) {
         std::string widths = "8";
         for (int64_t i = 1; i < n; ++i) widths += ",8";
         const std::string said = with_settings("tvae", "encoder-dim=" + widths);
         EXPECT_EQ(said, with_settings("ctgan", "generator-dim=" + widths));
         return said;
       }},
      {"`--learning-rate`, above 0",
       [](int64_t n) { return with_settings("tvae", "learning-rate=" + (n == 0 ? "1e-9" : std::to_string(n))); }},
      {"`--loss-factor`, above 0", setting("loss-factor", "tvae")},
      {"`--gamma`, above 0", setting("gamma", "timegan")},
      {"`--iterations`", setting("iterations", "timegan")},
      {"`--embedding-iterations`", setting("embedding-iterations", "timegan")},
      {"`--supervised-iterations`", setting("supervised-iterations", "timegan")},
      {"`--joint-iterations`", setting("joint-iterations", "timegan")},
      {"`--hidden-dim`", setting("hidden-dim", "timegan")},
      {"`--layers` of `made`", setting("layers", "made")},
      {"`--layers` of `timegan` (0: chosen)", setting("layers", "timegan")},
      {"`--patience`",  // 0 is told apart from the default: −1 in the interface
       [](int64_t n) { return fit_options([&](O& o) { o.patience = static_cast<int32_t>(n <= 0 ? n - 1 : n); }); }},
      {"`--max-time`, in seconds",
       [](int64_t n) { return fit_options([text = std::to_string(n) + "s"](O& o) { o.max_time = text.c_str(); }); }},
      {"`--checkpoint-every`, in epochs",
       [](int64_t n) {
         return fit_options([text = std::to_string(n) + "epochs"](O& o) { o.checkpoint_every = text.c_str(); });
       }},
      {"`--sequence-length`",
       [](int64_t n) { return timegan([](O&) {}, [&](auto& s) { s.length = static_cast<int32_t>(n); }); }},
      {"`--stride`", [](int64_t n) { return timegan([](O&) {}, [&](auto& s) { s.stride = zero_below(n); }); }},
      {"`--judges`",
       [](int64_t n) {
         tessera_sequence_options s{};
         s.struct_size = sizeof s, s.length = 24;
         tessera_evaluate_options o{};
         o.struct_size = sizeof o, o.sequences = &s,
         o.judges = static_cast<int32_t>(n == 0  ? TESSERA_NO_JUDGES
                                         : n < 0 ? n - 1
                                                 : n);
         return outcome(tessera_check_evaluate_options(&o));
       }},
      {"rows of `fit` with `--patience`", patient},
      {"`--rows` of `sample`", [](int64_t n) { return sample(0, n); }},
      {"`--offset` of `sample`, one row", [](int64_t n) { return sample(n, 1); }},
      {"`--batch-size` of `sample`",
       [](int64_t n) { return sample(0, 1, [&](auto& o) { o.batch_size = zero_below(n); }); }},
      {"`--max-tries`", [](int64_t n) { return sample(0, 1, [&](auto& o) { o.max_tries = zero_below(n); }); }},
      {"`--min-yield`, 0 to 1",
       [](int64_t n) { return sample(0, 1, [&](auto& o) { o.min_yield = static_cast<double>(n <= 0 ? n - 1 : n); }); }},
      {"`--rows` of `example`",
       [](int64_t n) { return outcome_of([&] { (void)tessera::example(tessera::Context(), "people", n, 1); }); }},
      {"categories of `--target`", target},
      {"levels of nesting in a model file's header",
       [](int64_t n) {
         return header(std::string(static_cast<size_t>(n), '[') + std::string(static_cast<size_t>(n), ']'),
                       "nests deeper");
       }},
      {"dimensions of a tensor of a model file",
       [](int64_t n) {
         nlohmann::json tensor{
             {"dtype", "F32"}, {"shape", std::vector<int>(static_cast<size_t>(n), 0)}, {"data_offsets", {0, 0}}};
         return header(nlohmann::json{{"a", tensor}}.dump(), "at most 32 dimensions");
       }},
      {"bytes of a model file's header",
       [](int64_t n) { return header("{}" + std::string(static_cast<size_t>(n - 2), ' '), "declare"); }},
  };
  return all;
}

struct Row {
  std::string what, within, beyond;
  std::optional<int64_t> least, most;
};

std::vector<Row> documented() {
  std::ifstream page(std::string(TESSERA_SOURCE_DIR) + "/docs/use/limits.md");
  std::vector<Row> rows;
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells;
    size_t from = 0;
    while (from < line.size() && line[from] == '|') {
      const size_t end = line.find(" |", from + 1);
      if (end == std::string::npos) break;
      cells.push_back(line.substr(from + 2, end - from - 2));
      from = end + 1;
    }
    if (cells.size() != 5 || cells[0] == "what") continue;
    const auto number = [](std::string cell) -> std::optional<int64_t> {
      std::erase(cell, ',');
      return cell == "–" ? std::nullopt : std::optional(std::stoll(cell));
    };
    rows.push_back({cells[0], cells[3], cells[4], number(cells[1]), number(cells[2])});
  }
  return rows;
}

TEST(Limits, MatchTheDocumentation) {
  std::map<std::string, std::function<std::string(int64_t)>> of;
  for (const Try& t : tries()) of[t.what] = t.of;
  for (const Row& row : documented()) {
    SCOPED_TRACE(row.what);
    const auto found = of.find(row.what);
    ASSERT_NE(found, of.end()) << "docs/use/limits.md names a limit that nothing tests";
    const auto inside = [&](int64_t n) { return n >= row.least.value_or(n) && n <= row.most.value_or(n); };
    for (const auto& bound : {row.least, row.most}) {
      if (!bound) continue;
      for (const int64_t n : {*bound - 1, *bound, *bound + 1})
        EXPECT_EQ(found->second(n), inside(n) ? row.within : row.beyond)
            << "size " << n << ": " << tessera_last_error();
    }
    of.erase(found);
  }
  for (const auto& [what, unused] : of)
    ADD_FAILURE() << "\"" << what << "\" is tested and stands nowhere in docs/use/limits.md";
}

}  // namespace
