// tessera inspect data.csv · tessera inspect data.tessera
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "outline.h"
#include "text.h"

namespace {

using Json = nlohmann::json;

struct Arguments {
  std::string file;
  CsvArguments csv;
};

// A model file begins with a length of 8 bytes, little-endian, the last of them 0, and a brace; no CSV file holds a zero byte.
bool is_model(const std::string& path) {
  if (path == "-") return false;
  std::array<char, 9> head{};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;  // the reader says why
  const size_t got = std::fread(head.data(), 1, head.size(), file);
  std::fclose(file);
  return got == head.size() && head[7] == 0 && head[8] == '{';
}

// What a column holds, in a few words: its range, or its most frequent values.
std::string content(const Json& column) {
  if (column.contains("min")) return column["min"].is_null() ? "–" : inline_text(column["min"]) + " … " + inline_text(column["max"]);
  std::vector<std::string> values;
  for (const Json& top : column.value("top", Json::array())) values.push_back(inline_text(top["value"]));
  return text::list(values, 3);
}

std::string page(const Json& report) {
  using Side = text::Table::Side;
  const int64_t rows = report["rows"].get<int64_t>();
  text::Table t({{"column"}, {"type"}, {"distinct", Side::right}, {"missing", Side::right}, {"holds", Side::left, 44}, {"because", Side::left, 70}});
  for (const Json& c : report["columns"]) {
    const double missing = rows == 0 ? 0 : c["missing"].get<double>() / static_cast<double>(rows);
    t.add({c["name"].get<std::string>(), c["type"].get<std::string>(), inline_text(c["distinct"]), missing > 0 ? text::percent(missing) : "–", content(c),
           c["reason"].get<std::string>()});
  }
  return fmt::format("{} rows × {} columns\n\n", text::count(rows), report["columns"].size()) + t.str();
}

void run(const SharedOptions& shared, const Arguments& a) {
  Session session(shared);
  const bool model = is_model(a.file);
  const std::string json = model ? tessera::Model::load(a.file).describe() : tessera::inspect(session.context(), tessera::read_csv(session.context(), a.file, a.csv.options()));
  session.progress().clear();
  if (shared.json) return print(json + "\n");
  print(model ? outline(nlohmann::ordered_json::parse(json)) : page(Json::parse(json)));
}

}  // namespace

void add_inspect(Program& program) {
  CLI::App* command = program.add("inspect", "Shows what was understood of a table, column by column and why, or what a model holds");
  auto a = std::make_shared<Arguments>();
  command->add_option("file", a->file, "CSV file, - for standard input, or a model")->required();
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
