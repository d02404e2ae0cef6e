#include "tables/files/schema_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/storage/files.h"
#include "base/text/json_guard.h"
#include "base/text/option_text.h"
#include "tables/kinds/kind.h"
#include "tables/table/suggestions.h"
#include "tables/types/types.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

class SchemaReader {
 public:
  SchemaReader(std::string path, CsvOptions& options) : path_(std::move(path)), options_(options) {}

  void read() {
    open_to_read(path_);  // missing, a directory, no permission: the usual messages
    std::ifstream file(path_, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    const Json json = Json::parse(bytes.str(), nullptr, false);
    if (json.is_discarded()) fail("the file is not valid JSON.", "Check its commas, quotes and brackets.");
    check_keys(json, "the file", {"$schema", "columns", "missing", "rules"});
    if (json.contains("missing"))
      for (const Json& word : list(json, "missing")) options_.missing.push_back(text(word, "\"missing\""));
    if (json.contains("rules"))
      for (const Json& rule : list(json, "rules")) options_.rules.push_back(text(rule, "\"rules\""));
    if (!json.contains("columns")) return;
    std::set<std::string> seen;
    for (const Json& column : list(json, "columns")) read_column(column, seen);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& way_out) const {
    throw Error(ErrorCode::usage, fmt::format("{}: {}\n  {}", option_text("schema", path_), what, way_out));
  }

  void check_keys(const Json& json, const std::string& what, const std::vector<std::string>& known) const {
    if (!json.is_object()) fail(what + " is not an object.", "Write it as { … }.");
    for (const auto& item : json.items())
      if (std::find(known.begin(), known.end(), item.key()) == known.end())
        fail(fmt::format("{} has the unknown entry \"{}\".{}", what, item.key(), nearest_names(item.key(), known)),
             "docs/data/schema.md lists the entries of a schema file.");
  }

  const Json& list(const Json& json, const char* key) const {
    if (!json[key].is_array()) fail(fmt::format("\"{}\" is not a list.", key), "Write it as [ … ].");
    return json[key];
  }

  std::string text(const Json& json, const std::string& what) const {
    if (!json.is_string()) fail(what + " is not a text.", "Put it in double quotes.");
    return json.get<std::string>();
  }

  void read_column(const Json& json, std::set<std::string>& seen) {
    check_keys(json, "a column",
               {"name", "type", "format", "rare_categories", "values", "min", "max", "decimals", "reason"});
    if (!json.contains("name")) fail("a column has no \"name\".", "Give every column the name it has in the table.");
    const std::string name = text(json["name"], "\"name\""), place = fmt::format("column \"{}\": ", name);
    if (!seen.insert(name).second) fail(place + "it occurs twice.", "Keep one of the two.");
    options_.named.push_back(name);
    bool numbers = false;
    if (json.contains("type")) {
      const std::string given = text(json["type"], place + "\"type\"");
      ColumnType type{};
      if (std::string kind; !parse_given_type(given, type, kind))
        fail(fmt::format("{}there is no type \"{}\".", place, given), "Types are " + given_type_names() + ".");
      numbers = kind_of(type).ordered;
      const auto same = [&](const auto& t) { return t.first == name; };
      if (std::none_of(options_.types.begin(), options_.types.end(), same)) options_.types.emplace_back(name, given);
    }
    if (json.contains("format")) {
      const std::string format = text(json["format"], place + "\"format\"");
      if (!json.contains("type")) numbers = type_by_format(name, format, place);
      if (numbers) options_.formats.emplace_back(name, format);
    }
    if (json.contains("rare_categories"))
      options_.least_rows.emplace_back(name, least_rows(json["rare_categories"], place));
    read_domain(json, name, place);
  }

  // Of a column without a type here: one by --types, or a date, which its format says. Whether it has numbers.
  bool type_by_format(const std::string& name, const std::string& format, const std::string& place) {
    for (const auto& [column, given] : options_.types) {
      ColumnType type{};
      if (std::string kind; column == name && parse_given_type(given, type, kind)) return kind_of(type).ordered;
    }
    if (!is_date_format(format))
      fail(place + "it has a \"format\" and no \"type\".", "Give its type too; formats of dates need none.");
    const bool timed = format.find("%M") != format.npos;
    options_.types.emplace_back(name, timed ? "datetime" : "date");
    return true;
  }

  // What a differentially private fit may know of the column without paying for it.
  void read_domain(const Json& json, const std::string& name, const std::string& place) {
    Json domain = Json::object();
    if (json.contains("values")) {
      for (const Json& value : list(json, "values"))
        if (text(value, place + "an entry of \"values\"").empty())
          fail(place + "an entry of \"values\" is empty.", "Missing cells need no entry.");
      if (json["values"].empty()) fail(place + "\"values\" is empty.", "List the values, or omit it.");
      domain["values"] = json["values"];
    }
    for (const char* key : {"min", "max"}) {
      if (!json.contains(key)) continue;
      if (!json[key].is_number() && !json[key].is_string())
        fail(fmt::format("{}\"{}\" is neither a number nor a date.", place, key), "Write 17, or \"2020-01-31\".");
      domain[key] = json[key];
    }
    if (json.contains("min") != json.contains("max"))
      fail(place + "it has one of \"min\" and \"max\".", "Give both ends of the range, or none.");
    if (json.contains("decimals")) {
      constexpr int64_t kMaxDecimals = 15;
      const Json& digits = json["decimals"];
      if (!digits.is_number_integer() || digits.get<int64_t>() < 0 || digits.get<int64_t>() > kMaxDecimals)
        fail(place + "\"decimals\" is not a whole number from 0 to 15.", "It is the number of digits after the point.");
      domain["decimals"] = digits;
    }
    if (!domain.empty())
      options_.domains.emplace_back(name, domain.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  int64_t least_rows(const Json& json, const std::string& place) const {
    constexpr int64_t kMaxRareRows = 1'000'000;
    if (json == "keep") return 1;
    if (!json.is_number_integer() || json.get<int64_t>() < 1 || json.get<int64_t>() > kMaxRareRows)
      fail(place + "\"rare_categories\" is neither \"keep\" nor a whole number from 1.",
           "It is the number of rows that must share a value for it to be learned.");
    return json.get<int64_t>();
  }

  std::string path_;
  CsvOptions& options_;
};

}  // namespace

void read_schema_file(const std::string& path, CsvOptions& options) { SchemaReader(path, options).read(); }

std::string schema_text(std::string_view inspected) {
  constexpr int kDeepest = 32;
  const Json report = parse_json(inspected, kDeepest, "The description of a table");
  try {
    nlohmann::ordered_json schema{{"columns", Json::array()}};
    for (const Json& c : report.at("columns")) {
      nlohmann::ordered_json column{{"name", c.at("name")}, {"type", c.at("type")}};
      if (c.contains("format")) column["format"] = c["format"];
      column["reason"] = c.at("reason");
      schema["columns"].push_back(std::move(column));
    }
    return schema.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
  } catch (const Json::exception& e) {
    throw Error(ErrorCode::format, std::string("This is not the description of a table: ") + e.what() +
                                       ".\n  Pass the JSON of tessera_inspect() unchanged.");
  }
}

}  // namespace tessera
