#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/api/support/context.h"
#include "models/api/support/handles.h"
#include "models/prior/files.h"

using namespace tessera;
using namespace tessera::api;

namespace {

struct OwnedTable : tessera_prior_table {
  explicit OwnedTable(prior::PriorTable&& drawn)
      : tessera_prior_table{}, table(std::move(drawn)), json(prior::to_json(table).dump()) {
    struct_size = sizeof(tessera_prior_table);
    index = table.index, rows = table.rows, features = table.features, train_rows = table.train_rows;
    classes = static_cast<int64_t>(table.class_rows.size());
    x = table.x.data(), y = table.y.data(), description = json.c_str();
  }
  prior::PriorTable table;
  std::string json;
};

// The place of a name in a list; the first is the default.
template <class E>
E one_of(const char* option, const char* given, const std::vector<std::string>& names) {
  const std::string name = text_or(given, names[0].c_str());
  std::string known;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
    known += (i == 0 ? "" : ", ") + names[i];
  }
  throw Error(ErrorCode::usage, fmt::format("{} {}: there are {}.", option, name, known));
}

template <class T>
void take_range(T low, T high, prior::Between<T>& range) {
  if (low != 0 || high != 0) range = {low, high};
}

prior::Options prior_options(const tessera_prior_options* given) {
  const tessera_prior_options o = read_options(given);
  prior::Options out;
  out.seed = o.seed;
  take_range(o.min_rows, o.max_rows, out.rows);
  take_range(o.min_features, o.max_features, out.features);
  take_range(o.min_classes, o.max_classes, out.classes);
  take_range(o.min_imbalance, o.max_imbalance, out.imbalance);
  take_range(o.min_separability, o.max_separability, out.separability);
  take_range(o.min_missing, o.max_missing, out.missing);
  out.kind = one_of<prior::Kind>("kind", o.kind, {"mix", "mlp", "tree", "graph"});
  out.task = one_of<prior::Task>("task", o.task, {"classification", "regression"});
  prior::check_options(out);
  return out;
}

}  // namespace

tessera_status tessera_prior_draw(const tessera_context* context, const tessera_prior_options* options, int64_t first,
                                  int64_t count, tessera_prior_table** tables) {
  return guarded([&] {
    const prior::Options o = prior_options(options);
    if (count > 0) required(tables, "tables");
    api::Call call(context);
    std::vector<prior::PriorTable> drawn = prior::draw_tables(o, first, count, call.team(), call.gpu());
    std::vector<std::unique_ptr<OwnedTable>> owned;
    for (prior::PriorTable& t : drawn) owned.push_back(std::make_unique<OwnedTable>(std::move(t)));
    for (size_t i = 0; i < owned.size(); ++i) note_handle(owned[i].get(), HandleKind::prior_table);
    for (size_t i = 0; i < owned.size(); ++i) tables[i] = owned[i].release();
  });
}

void tessera_prior_table_free(tessera_prior_table* table) {
  if (table == nullptr) return;
  (void)guarded([&] {
    if (!forget_handle(table, HandleKind::prior_table))
      fail_handle("table", HandleKind::prior_table, kind_of_handle(table));
    delete static_cast<OwnedTable*>(table);
  });
}

tessera_status tessera_prior_write(const tessera_context* context, const tessera_prior_options* options, int64_t tables,
                                   const char* folder, const char* format, int32_t part, int32_t parts, char** json) {
  return guarded([&] {
    const prior::Options o = prior_options(options);
    prior::Output output{&required(folder, "folder"), {}, tables, 0, 1};
    output.format = one_of<prior::Format>("format", format, {std::begin(prior::kFormats), std::end(prior::kFormats)});
    if (part != 0 || parts != 0) output.part = part, output.parts = parts;
    api::Call call(context);
    const nlohmann::json report = prior::write_tables(o, output, call.team(), call.monitor(), call.gpu());
    if (json != nullptr) *json = give_json(report);
  });
}

tessera_status tessera_prior_inspect(const tessera_context* context, const tessera_prior_options* options,
                                     int64_t tables, char** json) {
  return guarded([&] {
    auto& out = required(json, "json");
    const prior::Options o = prior_options(options);
    api::Call call(context);
    out = give_json(prior::describe_tables(o, tables, call.team(), call.monitor(), call.gpu()));
  });
}
