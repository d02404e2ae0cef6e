// tessera inspect data.csv · tessera inspect data.tessera
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "fit_arguments.h"
#include "terminal/flags.h"
#include "terminal/outline.h"
#include "terminal/text.h"

namespace {

using Json = nlohmann::json;

struct InspectCommand {
  std::string file, schema;
  bool rules = false;
  FitArguments given;  // only its rules are used
  CsvArguments csv;
};

// A model file begins with a length of 8 bytes, little-endian, whose last byte is 0, and a brace. No CSV file contains
// a zero byte.
bool is_model(const std::string& path) {
  if (path == "-") return false;
  std::array<char, 9> head{};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;  // the reader reports why
  const size_t got = std::fread(head.data(), 1, head.size(), file);
  std::fclose(file);
  return got == head.size() && head[7] == 0 && head[8] == '{';
}

// A short description of a column: its range, or its most frequent values.
std::string content(const Json& column) {
  if (column.contains("min"))
    return column["min"].is_null() ? "–" : inline_text(column["min"]) + " … " + inline_text(column["max"]);
  constexpr size_t kShown = 3;
  std::vector<std::string> values;
  for (const Json& top : column.value("top", Json::array())) values.push_back(inline_text(top["value"]));
  // "top" holds only the most frequent
  const size_t shown = std::min(kShown, values.size()), rest = column["distinct"].get<size_t>() - shown;
  values.resize(shown);
  return text::list(values) + (rest == 0 ? "" : fmt::format(" and {} more", text::count(static_cast<int64_t>(rest))));
}

std::string table_page(const Json& report) {
  using Side = text::Table::Side;
  const int reasons = ::isatty(STDOUT_FILENO) != 0 ? 70 : INT_MAX;  // a pipe or a file is not limited in width
  const int64_t rows = report["rows"].get<int64_t>();
  text::Table t({{"column"},
                 {"type"},
                 {"distinct", Side::right},
                 {"missing", Side::right},
                 {"holds", Side::left, 44},
                 {"because", Side::left, reasons}});
  for (const Json& c : report["columns"]) {
    const double missing = rows == 0 ? 0 : c["missing"].get<double>() / static_cast<double>(rows);
    t.add({c["name"].get<std::string>(), c["type"].get<std::string>(), inline_text(c["distinct"]),
           missing > 0 ? text::percent(missing) : "–", content(c), c["reason"].get<std::string>()});
  }
  return text::counted(rows, "rows") + " × " +
         text::counted(static_cast<int64_t>(report["columns"].size()), "columns") + "\n\n" + t.str();
}

// The encoding of a column in a model.
std::string coding(const Json& column) {
  const auto size = [&](const char* key) { return column.contains(key) ? column[key].size() : 0; };
  std::string kind = column.value("coding", "");
  if (kind == "levels") return text::counted(static_cast<int64_t>(size("levels")), "levels");
  if (kind == "range")
    return size("grid") == 0 ? std::string("its position in the range")
                             : fmt::format("its position in the range, {} values", size("grid"));
  if (kind == "modes")
    return fmt::format("{}{}", text::counted(static_cast<int64_t>(size("means")), "modes"),
                       size("spikes") == 0 ? "" : fmt::format(", {} exact", size("spikes")));
  if (kind == "identifier") return "regenerated: " + column.value("description", "");
  if (kind == "constant") return "always " + inline_text(column.value("value", Json()));
  return kind;
}

// Range or values, if readable without conversion: dates are stored in days and seconds.
std::string kept(const Json& column) {
  const std::string type = column.value("type", ""), format = column.value("format", "");
  if (type == "date" || type == "datetime") return "dates like " + format;
  if (column.contains("low")) return inline_text(column["low"]) + " … " + inline_text(column["high"]);
  std::vector<std::string> levels;
  for (const Json& level : column.value("levels", Json::array())) levels.push_back(inline_text(level));
  return text::list(levels, 3);
}

// What the model file reveals about its training rows: docs/quality/privacy.md.
std::string revealed(const Json& column, const Json& numbers) {
  const std::string kind = column.value("coding", ""), name = column["name"].get<std::string>();
  const auto count = [&](const char* key) {
    return column.contains(key) ? static_cast<int64_t>(column[key].size()) : 0;
  };
  if (kind == "identifier") return "the pattern of its values";
  if (kind == "constant") return "its value";
  std::string out = kind == "modes" || kind == "range" ? "range" : text::counted(count("levels"), "values");
  if (count("grid") > 0) out += ", " + text::counted(count("grid"), "values");
  if (count("spikes") > 0) out += ", " + text::counted(count("spikes"), "repeated values");
  if (count("rare") > 0) out += ", " + text::counted(count("rare"), "rarer ones");
  for (const Json& n : numbers)
    if (n["column"] == name)
      out +=
          fmt::format(", {}{} {}", n["every_value"].get<bool>() ? "all " : "", text::count(n["points"].get<int64_t>()),
                      n["every_value"].get<bool>() ? "numbers" : "quantiles");
  return out;
}

// The imported type of a column if it is not the default, as a name for Arrow's format string: "int16",
// "timestamp[ms, UTC]", "decimal(10,2)".
std::string arrow_type(const std::string& format) {
  static const std::map<std::string, std::string> names{
      {"n", "null"},    {"b", "bool"},       {"c", "int8"},         {"C", "uint8"},      {"s", "int16"},
      {"S", "uint16"},  {"i", "int32"},      {"I", "uint32"},       {"l", "int64"},      {"L", "uint64"},
      {"e", "float16"}, {"f", "float32"},    {"g", "float64"},      {"z", "binary"},     {"Z", "large_binary"},
      {"u", "utf8"},    {"U", "large_utf8"}, {"vz", "binary_view"}, {"vu", "utf8_view"}, {"tdD", "date32"},
      {"tdm", "date64"}};
  if (const auto known = names.find(format); known != names.end()) return known->second;
  const auto unit = [](char c) { return c == 's' ? std::string("s") : std::string(1, c) + "s"; };
  if (format.size() > 3 && format.rfind("ts", 0) == 0)
    return "timestamp[" + unit(format[2]) + (format.size() > 4 ? ", " + format.substr(4) : "") + "]";
  if (format.size() == 3 && format.rfind("tt", 0) == 0) return "time[" + unit(format[2]) + "]";
  if (format.size() == 3 && format.rfind("tD", 0) == 0) return "duration[" + unit(format[2]) + "]";
  if (format.rfind("d:", 0) == 0) return "decimal(" + format.substr(2) + ")";
  return format;
}

std::string protected_numbers(const Json& provenance) {
  const Json how = provenance.value("protected_numbers", Json());
  const int64_t least = how.is_object() ? how.value("least_rows", int64_t{1}) : 1;
  if (least <= 1) return "  numbers may come from single rows, including minima and maxima\n";
  std::vector<std::string> gone;
  for (const Json& c : how.value("emptied", Json::array()))
    gone.push_back(
        fmt::format("{}: {} in total", c["column"].get<std::string>(), text::count(c["rows"].get<int64_t>())));
  return fmt::format(
      "  every stored number is a function of at least {} rows: minima and maxima are means over at least this many, "
      "or "
      "values that as many share{}\n",
      least, gone.empty() ? "" : "; treated as empty because of too few values: " + text::list(gone, 12));
}

// Kinds of rules that store more of the table than their text shows.
const std::map<std::string, const char*> kRuleValues{
    {"rates", "each category with its rate"},
    {"bands", "the value of each band"},
    {"missing", "the values that it names"},
    {"repeat", "the mean of its smallest repeated numbers, and of its largest"}};

// What a differentially private fit spent, by mechanism.
std::string ledger_page(const Json& ledger) {
  using Side = text::Table::Side;
  text::Table t({{"noisy"},
                 {"of", Side::left, 60},
                 {"counts", Side::right},
                 {"sensitivity", Side::right},
                 {"deviation", Side::right},
                 {"epsilon", Side::right}});
  double sum = 0;
  for (const Json& m : ledger["mechanisms"]) {
    t.add({m["mechanism"].get<std::string>(), inline_text(m["of"]), text::count(m["counts"].get<int64_t>()),
           fmt::format("{:.4g}", m["sensitivity"].get<double>()), fmt::format("{:.4g}", m["sigma"].get<double>()),
           fmt::format("{:.4f}", m["epsilon"].get<double>())});
    sum += m["epsilon"].get<double>();
  }
  return fmt::format(
      "\nprivacy: ({:.4g}, {:.3g})-differentially private, where {}\n{}"
      "  shares of epsilon add up to {:.4g}; accounted for together {:.4g}, by Rényi divergences {:.4g}\n"
      "  noise is Gaussian, discrete on counts; everything else in the file is a function of these numbers\n",
      ledger["epsilon"].get<double>(), ledger["delta"].get<double>(), ledger["neighbors"].get<std::string>(), t.str(),
      sum, ledger["accounted_epsilon"].get<double>(), ledger["rdp_epsilon"].get<double>());
}

std::string privacy_page(const Json& model) {
  if (model["provenance"].contains("privacy")) return ledger_page(model["provenance"]["privacy"]);
  const Json& columns = model["encoder"]["columns"];
  const Json numbers =
      model.contains("calibration") ? model["calibration"].value("numbers", Json::array()) : Json::array();
  text::Table t({{"column"}, {"the file stores about its rows", text::Table::Side::left, 90}});
  for (const Json& c : columns) t.add({c["name"].get<std::string>(), revealed(c, numbers)});
  std::string out = "\nprivacy\n" + t.str() + protected_numbers(model["provenance"]);
  for (const Json& rule : model.value("rules", Json::array()))
    if (const auto values = kRuleValues.find(rule.value("kind", "")); values != kRuleValues.end())
      out += fmt::format("  the rule \"{}\" stores {}\n", inline_text(rule["rule"]), values->second);
  const Json rare = model["provenance"].value("rare_categories", Json());
  if (!rare.is_object()) return out;
  for (const Json& c : rare.value("own", Json::array()))
    out += fmt::format("  by the schema, {} keeps categories that {} or more hold\n", c["column"].get<std::string>(),
                       text::counted(c["least_rows"].get<int64_t>(), "rows"));
  const int64_t least = rare.value("least_rows", int64_t{1});
  if (least <= 1) return out + "  every category is kept, however rare\n";
  out += rare.contains("of") ? fmt::format("  every stored category stands in the rows of at least {} values of {}",
                                           least, rare["of"].get<std::string>())
                             : fmt::format("  every stored category stands in at least {} rows", least);
  std::vector<std::string> gone;
  for (const Json& c : rare.value("columns", Json::array()))
    gone.push_back(fmt::format("{}: {} in {}{}", c["column"].get<std::string>(),
                               text::count(c["values"].get<int64_t>()), text::counted(c["rows"].get<int64_t>(), "rows"),
                               c.value("made_anew", false) ? ", regenerated" : ""));
  return out + (gone.empty() ? "; there was none\n" : "; left out: " + text::list(gone, 12) + "\n");
}

// The measures of each calibration tier, with the chosen one marked.
std::string calibration_page(const Json& calibration) {
  using Side = text::Table::Side;
  const std::string chosen = calibration.value("tier", "off");
  std::string out = "\ncalibration, measured on rows of the model\n";
  text::Table t({{"tier"},
                 {"yield", Side::right},
                 {"shape error", Side::right},
                 {"trend error", Side::right},
                 {"C2ST", Side::right},
                 {""}});
  for (const Json& trial : calibration["trials"]) {
    std::string tier = trial["tier"].get<std::string>();
    if (tier == "full") tier += fmt::format(", temperature {:g}", trial["temperature"].get<double>());
    t.add({tier, text::percent(trial["yield"].get<double>()), text::percent(trial["shape_error"].get<double>()),
           text::percent(trial["trend_error"].get<double>()), fmt::format("{:.3f}", trial["c2st"].get<double>()),
           trial.value("kept", false) && trial["tier"] == chosen ? "the default of sample" : ""});
  }
  out += t.str();
  if (calibration.contains("note"))
    out += "  no full calibration: " + as_typed(calibration["note"].get<std::string>()) + "\n";
  return out;
}

// How a sequence model defines a sequence.
std::string sequences(const Json& encoder) {
  const int64_t length = encoder["length"].get<int64_t>(), stride = encoder["stride"].get<int64_t>(),
                longest = encoder["longest"].get<int64_t>();
  const std::string key = encoder["key"].get<std::string>(), index = encoder["index"].get<std::string>();
  std::string out =
      length > 0 ? fmt::format("windows of {} rows{}", length, stride > 1 ? fmt::format(", every {} rows", stride) : "")
                 : fmt::format("sequences of up to {} steps", longest);
  if (!key.empty()) out += ", one " + key + " each";
  if (!index.empty()) out += ", ordered by " + index;
  std::vector<std::string> statics;
  for (const Json& s : encoder["statics"]) statics.push_back(s.get<std::string>());
  if (!statics.empty()) out += "; static: " + text::list(statics);
  return out + "\n";
}

// Width of encoded rows and number of weights.
std::string sizes(const Json& model, bool of_sequences) {
  const Json &data = model["data_width"], &conditions = model["condition_width"];
  const std::string widths =
      of_sequences ? fmt::format("{} units per step in the networks and {} per sequence", inline_text(data),
                                 inline_text(conditions))
                   : fmt::format("{} columns in the networks, {} of them conditions",
                                 inline_text(data.get<int64_t>() + conditions.get<int64_t>()), inline_text(conditions));
  std::vector<std::string> networks;
  for (const Json& n : model["networks"]) networks.push_back(n.get<std::string>());
  return fmt::format("{}; {} weights in {}{}", widths, inline_text(model["parameters"]),
                     networks.size() > 1 ? "" : "the ", text::list(networks));
}

// The names of the losses in --log, each with its meaning.
std::string losses(const Json& list) {
  text::Table t({{"loss"}, {"is", text::Table::Side::left, 90}});
  for (const Json& loss : list) t.add({loss["name"].get<std::string>(), loss["help"].get<std::string>()});
  return t.str();
}

// Each rule with its evidence.
std::string rules_table(const Json& rules) {
  using Side = text::Table::Side;
  text::Table t({{"rule", Side::left, 90},
                 {"kept"},
                 {"rows", Side::right},
                 {"held out", Side::right},
                 {"by chance", Side::right}});
  for (const Json& r : rules) {
    const bool found = r.contains("rows");
    t.add({r["rule"].get<std::string>(), r["kept"].get<std::string>(),
           found ? text::count(r["rows"].get<int64_t>()) : "–", found ? text::count(r["held_out"].get<int64_t>()) : "–",
           found && r["held_out"] > 0 ? text::percent(r["chance"].get<double>()) : "–"});
  }
  return t.str();
}

std::string rules_page(const Json& report) {
  const int64_t rows = report["rows"].get<int64_t>();
  if (report["rules"].empty()) return text::counted(rows, "rows") + "; no rule was found\n";
  return text::counted(rows, "rows") + "\n\n" + rules_table(report["rules"]) +
         "\n  held out: held-out rows that satisfy the rule; by chance: rows that would satisfy it if the columns "
         "were\n"
         "  independent\n";
}

std::string model_page(const Json& model) {
  const Json &columns = model["encoder"]["columns"], &from = model["provenance"];
  const int64_t steps = from.value("steps", int64_t{0});
  std::string out = fmt::format("{}, preset {}: {} columns, {} rows of {}\n", model["method"].get<std::string>(),
                                model["preset"].get<std::string>(), model.value("columns", columns.size()),
                                inline_text(from["rows"]), inline_text(from["source"]));
  out += steps == 0 ? "untrained\n\n"
                    : fmt::format("trained in {} steps, seed {}\n\n", text::count(steps), inline_text(from["seed"]));
  const bool of_sequences = model["of"] == "sequences";
  if (of_sequences) out.insert(out.size() - 1, sequences(model["encoder"]));
  // Columns of CSV files have no Arrow type.
  const bool arrow = std::any_of(columns.begin(), columns.end(), [](const Json& c) { return c.contains("arrow"); });
  std::vector<text::Table::Heading> heads{{"column"},
                                          {"type"},
                                          {"encoded as", text::Table::Side::left, 60},
                                          {"missing"},
                                          {"values", text::Table::Side::left, 60}};
  if (arrow) heads.insert(heads.begin() + 2, {"Arrow type"});
  text::Table t(heads);
  for (const Json& c : columns) {
    std::vector<std::string> cells{c["name"].get<std::string>(), c["type"].get<std::string>(), coding(c),
                                   c.value("missing", false) ? "yes" : "–", kept(c)};
    if (arrow) cells.insert(cells.begin() + 2, c.contains("arrow") ? arrow_type(c["arrow"].get<std::string>()) : "–");
    t.add(cells);
  }
  out += t.str() + "\n  " + sizes(model, of_sequences) + "\n\nlosses of its training\n" + losses(model["losses"]) +
         "\nsettings\n";
  out += outline(model["config"]) + privacy_page(model);
  if (model.contains("rules")) out += "\nrules that sampled rows satisfy\n" + rules_table(model["rules"]);
  return model.contains("calibration") ? out + calibration_page(model["calibration"]) : out;
}

void run(const SharedOptions& shared, const InspectCommand& a) {
  const bool model = is_model(a.file), rules = a.rules || !a.given.rule.empty();
  if (!a.schema.empty() && model)
    throw tessera::Error(TESSERA_E_USAGE, "--schema describes a table, and " + a.file + " is a model.");
  if (model && rules)
    throw tessera::Error(TESSERA_E_USAGE, "--rules: " + a.file + " is a model; its rules are shown without it.");
  if (!a.schema.empty() && rules)
    throw tessera::Error(TESSERA_E_USAGE, "--schema and --rules exclude each other. Omit one.");
  if (!a.schema.empty())
    tessera::check_files({{0, "the table", a.file.c_str(), TESSERA_FILE_READ, 0},
                          {0, "--schema", a.schema.c_str(), TESSERA_FILE_REGULAR, 0}});
  Session session(shared);
  const auto table = [&] { return tessera::read_table(session.context(), {a.file}, a.csv.options()); };
  const std::string json = model   ? tessera::Model::load(a.file).describe()
                           : rules ? tessera::find_rules(session.context(), table(), a.given.options())
                                   : tessera::inspect(session.context(), table());
  session.progress().clear();
  if (!a.schema.empty()) tessera::write_schema(json, a.schema, false);
  if (shared.json) return print(json + "\n");
  const Json report = Json::parse(json);
  print_page(model ? model_page(report) : rules ? rules_page(report) : table_page(report));
}

}  // namespace

void add_inspect(Program& program) {
  CLI::App* command =
      program.add("inspect", "Shows the type of each column of a table with its reason, or the contents of a model");
  auto a = std::make_shared<InspectCommand>();
  command->add_option("file", a->file, "CSV, Parquet or Arrow file, - for CSV from standard input, or a model")
      ->required();
  command->add_option("--schema", a->schema,
                      "Write the columns and their types to this new file; edit it and pass it to fit --schema");
  command->add_flag("--rules", a->rules, "List the rules that fit finds in the table, with the evidence for each");
  a->given.add_rule_to(*command);
  a->given.sequences.add_to(*command);
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
