#include "sweep/fits.h"

#include <fmt/format.h>

#include <CLI/Error.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "terminal/text.h"

namespace sweep {
namespace {

constexpr size_t kMaxFits = 10000;
constexpr size_t kMaxName = 200;  // bytes, of the 255 that file systems allow

[[noreturn]] void refuse(const std::string& what) { throw tessera::Error(TESSERA_E_USAGE, what); }

std::set<std::string> names_of(const CLI::App& command) {
  std::set<std::string> names;
  for (const CLI::Option* o : command.get_options())
    if (o->get_name() != "--help") names.insert(o->get_name());
  return names;
}

const std::set<std::string>& fit_names() {
  static const std::set<std::string> names = [] {
    CLI::App app("", "fit");
    FitOptions options;
    options.add_to(app);
    return names_of(app);
  }();
  return names;
}

// Those that say what the table is: evaluate reads it the same way.
const std::set<std::string>& reading_names() {
  static const std::set<std::string> names = [] {
    CLI::App app("", "evaluate");
    CsvArguments csv;
    SequenceArguments sequences;
    csv.add_to(app), sequences.add_to(app);
    return names_of(app);
  }();
  return names;
}

bool is_sequence_option(const std::string& name) {
  static const std::set<std::string> names = [] {
    CLI::App app;
    SequenceArguments sequences;
    sequences.add_to(app);
    return names_of(app);
  }();
  return names.count(name) > 0;
}

// "3..7" as 3,4,5,6,7; empty for anything else.
std::vector<std::string> range(const std::string& text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return {};
  uint64_t first = 0, last = 0;
  const char *begin = text.data(), *end = begin + text.size();
  const auto low = std::from_chars(begin, begin + dots, first);
  const auto high = std::from_chars(begin + dots + 2, end, last);
  if (low.ec != std::errc() || low.ptr != begin + dots || high.ec != std::errc() || high.ptr != end) return {};
  if (last < first || last - first >= kMaxFits) refuse(fmt::format("--vary: {} is not a range of values.", text));
  std::vector<std::string> all;
  for (uint64_t v = first; v <= last; ++v) all.push_back(std::to_string(v));
  return all;
}

std::vector<std::string> values_of(const std::string& text) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, comma - at);
    const std::vector<std::string> several = range(one);
    if (several.empty()) all.push_back(one);
    else all.insert(all.end(), several.begin(), several.end());
    at = comma + 1;
  }
  return all;
}

std::string for_a_file(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
    out += plain || static_cast<unsigned char>(c) >= 0x80 ? c : '-';
  }
  return out;
}

std::string file_name(const Fit& fit) {
  std::string name = for_a_file(std::filesystem::path(fit.table).stem().string());
  for (const auto& [option, value] : fit.varied) name += "_" + option.substr(2) + "-" + for_a_file(value);
  if (name.size() > kMaxName)
    refuse(
        fmt::format("{}: the files of this fit would have a name of {} bytes.\n  Vary fewer options, or shorter "
                    "values.",
                    fit.title(), name.size()));
  return name;
}

std::vector<std::string> words(const Options& options) {
  std::vector<std::string> all;
  for (const auto& [name, value] : options) all.push_back(name + "=" + value);
  return all;
}

// What tessera fit would say to these options before it reads a table.
void check(const Fit& fit) {
  CLI::App app("", "fit");
  FitOptions options;
  options.add_to(app);
  std::vector<std::string> line = fit.fit_arguments();
  std::reverse(line.begin(), line.end());  // as the parser takes them
  try {
    app.parse(std::move(line));
    tessera_fit_options o = options.options();
    o.source = fit.table.c_str();
    tessera::check_fit_options(o);
  } catch (const CLI::ParseError& e) { refuse(fit.title() + ": " + e.what()); } catch (const tessera::Error& e) {
    throw tessera::Error(e.status(), fit.title() + ": " + e.what());
  }
}

void check_all(const std::vector<Fit>& fits) {
  std::map<std::string, const Fit*> named;
  for (const Fit& fit : fits) {
    const auto [other, is_new] = named.emplace(fit.name, &fit);
    if (!is_new)
      refuse(
          fmt::format("{} and {} would write the same files, {}.*\n  Name a table or a value otherwise, or omit one.",
                      other->second->title(), fit.title(), fit.name));
  }
  for (const Fit& fit : fits) check(fit);
}

}  // namespace

void FitOptions::add_to(CLI::App& command) { fit.add_to(command), effort.add_to(command), csv.add_to(command); }

tessera_fit_options FitOptions::options() const {
  tessera_fit_options o = fit.options();
  effort.set(o);
  return o;
}

std::string Fit::title() const {
  std::string out = table;
  for (const auto& [option, value] : varied) out += " " + option.substr(2) + "=" + value;
  return out;
}

bool Fit::of_sequences() const {
  const auto given = [](const Options& options) {
    return std::any_of(options.begin(), options.end(), [](const auto& o) { return is_sequence_option(o.first); });
  };
  return given(fixed) || given(varied);
}

std::vector<std::string> Fit::fit_arguments() const {
  std::vector<std::string> all = words(fixed), more = words(varied);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> Fit::evaluate_arguments() const {
  std::vector<std::string> all;
  for (const Options* options : {&fixed, &varied})
    for (const auto& [option, value] : *options)
      if (reading_names().count(option) > 0) all.push_back(option + "=" + value);
  return all;
}

Varied parse_varied(const std::vector<std::string>& given) {
  Varied all;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      refuse(
          fmt::format("--vary {}: it must be an option of fits and its values, such as seed=1,2,3 or "
                      "method=made,tvae.",
                      text));
    const std::string option = (text.rfind("--", 0) == 0 ? "" : "--") + text.substr(0, equals);
    if (fit_names().count(option) == 0)
      refuse(fmt::format("--vary {}: fits of a sweep have no option {}.\n  tessera sweep --help lists those they have.",
                         text, option));
    if (std::any_of(all.begin(), all.end(), [&](const auto& o) { return o.first == option; }))
      refuse(fmt::format("--vary {}: {} is varied twice.\n  Give all of its values at once.", text, option));
    all.emplace_back(option, values_of(text.substr(equals + 1)));
  }
  return all;
}

Options fixed_options(const CLI::App& command) {
  Options all;
  for (const std::string& name : fit_names())
    for (const std::string& value : command.get_option(name)->results()) all.emplace_back(name, value);
  return all;
}

std::vector<Fit> all_fits(const std::vector<std::string>& tables, const Varied& varied, const Options& fixed) {
  std::vector<Fit> fits;
  for (const std::string& table : tables) fits.push_back({table, {}, fixed, ""});
  for (const auto& list : varied) {
    const std::string& option = list.first;
    const std::vector<std::string>& values = list.second;
    if (std::any_of(fixed.begin(), fixed.end(), [&](const auto& o) { return o.first == option; }))
      refuse(fmt::format("{} is both given and varied.\n  Omit one.", option));
    if (fits.size() * values.size() > kMaxFits)
      refuse(fmt::format("These are more than {} fits.\n  Vary less.", text::count(kMaxFits)));
    std::vector<Fit> more;
    for (const Fit& fit : fits)
      for (const std::string& value : values) {
        more.push_back(fit);
        more.back().varied.emplace_back(option, value);
      }
    fits = std::move(more);
  }
  for (Fit& fit : fits) fit.name = file_name(fit);
  check_all(fits);
  return fits;
}

}  // namespace sweep
