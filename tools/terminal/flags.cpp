#include "flags.h"

#include <CLI/Option.hpp>
#include <algorithm>
#include <map>
#include <optional>

namespace {

struct Flag {
  std::string name;  // "--batch-size"
  bool has_value = true;
};

// By key.
std::map<std::string, Flag, std::less<>>& flags() {
  static std::map<std::string, Flag, std::less<>> all;
  return all;
}

// Options of the library that have another name on the command line.
constexpr std::pair<const char*, const char*> kRenamed[] = {{"overwrite", "force"}, {"max_candidates", "max_tries"}};

void know_options(const CLI::App& app) {
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) {
      std::string key = name;
      std::replace(key.begin(), key.end(), '-', '_');
      flags()[key] = {"--" + name, o->get_expected_max() > 0};
    }
}

// The end of the value at `from`, if a backquote follows it; else npos.
size_t value_end(const std::string& text, size_t from) {
  size_t at = from;
  if (at < text.size() && text[at] == '"') {
    for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
    ++at;
  } else {
    at = std::min(text.find_first_of("` \"\n", at), text.size());
  }
  return at < text.size() && text[at] == '`' && at > from ? at : std::string::npos;
}

// Bytes as the command line takes them: "180MB".
std::string typed_value(const std::string& key, const std::string& value) {
  constexpr std::string_view kMillion = "000000";
  const bool bytes = key == "memory_limit" && value.size() > kMillion.size() &&
                     value.find_first_not_of("0123456789") == std::string::npos &&
                     value.compare(value.size() - kMillion.size(), kMillion.size(), kMillion) == 0;
  return bytes ? value.substr(0, value.size() - kMillion.size()) + "MB" : value;
}

// An option in backquotes at a place of a text.
struct Named {
  std::string typed;
  size_t end;
};

std::optional<Named> option_at(const std::string& text, size_t at) {
  const size_t stop = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at + 1);
  if (stop == std::string::npos || (text[stop] != '`' && text[stop] != '=')) return {};
  const std::string key = text.substr(at + 1, stop - at - 1);
  const auto flag = flags().find(key);
  if (flag == flags().end()) return {};
  if (text[stop] == '`') return Named{flag->second.name, stop + 1};
  const size_t end = value_end(text, stop + 1);
  if (end == std::string::npos) return {};
  const std::string value = flag->second.has_value ? " " + typed_value(key, text.substr(stop + 1, end - stop - 1)) : "";
  return Named{flag->second.name + value, end + 1};
}

}  // namespace

std::string flag_of(const std::string& key) {
  std::string out = "--" + key;
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

void know_flags(const CLI::App& program) {
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) know_options(*command);
  for (const auto& [key, name] : kRenamed)
    if (const auto known = flags().find(name); known != flags().end()) flags()[key] = known->second;
}

std::string as_typed(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') quoted = !quoted;
    if (text[at] == '\n') quoted = false;
    const std::optional<Named> option = text[at] == '`' && !quoted ? option_at(text, at) : std::nullopt;
    out += option ? option->typed : text.substr(at, 1);
    at = option ? option->end : at + 1;
  }
  return out;
}
