#include "help.h"

#include <fmt/format.h>

#include <CLI/Formatter.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "terminal/flags.h"
#include "terminal/text.h"
#include "tessera/tessera.hpp"

namespace {

constexpr const char* kAdvanced = "Advanced";

const std::array<std::pair<const char*, std::vector<const char*>>, 5> kGroups{{
    {"Table", {"--types", "--schema", "--missing", "--delimiter", "--header", "--max-rows"}},
    {"Method", {"--method", "--preset", "--seed", "--rules", "--rule", "--rare-categories", "--calibrate"}},
    {"Training",
     {"--epochs", "--iterations", "--batch-size", "--learning-rate", "--patience", "--keep", "--max-time", "--device",
      "--threads"}},
    {"Sequences", {"--sequence-length", "--stride", "--sequence-key", "--sequence-index", "--static"}},
    {"Output", {"--model", "--force", "--resume", "--log", "--report", "--quiet", "--json"}},
}};

std::string group_of(const std::string& option) {
  for (const auto& [group, options] : kGroups)
    if (std::find(options.begin(), options.end(), option) != options.end()) return group;
  return kAdvanced;
}

class GroupFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) return Formatter::make_help(app, name, mode);
    return make_description(app) + make_usage(app, name) + make_positionals(app) + groups_in_order(app) +
           make_subcommands(app, mode) + "\n" + make_footer(app);
  }

  std::string make_option_opts(const CLI::Option* o) const override {
    std::string type = o->get_type_name();
    if (const size_t range = type.find(':'); range != std::string::npos && type.compare(range, 2, ":{") != 0)
      type.resize(range);
    if (!type.empty()) type = " " + type;
    if (!o->get_default_str().empty()) type += "=" + o->get_default_str();
    if (o->get_expected_max() == CLI::detail::expected_max_vector_size) type += " ...";
    return type + (o->get_required() ? " REQUIRED" : "");
  }

 private:
  std::string groups_in_order(const CLI::App* app) const {
    std::vector<std::string> groups = app->get_groups();
    const auto place = [](const std::string& group) {
      const auto known = std::find_if(kGroups.begin(), kGroups.end(), [&](const auto& g) { return g.first == group; });
      return group == kAdvanced ? kGroups.size() + 1 : static_cast<size_t>(known - kGroups.begin());
    };
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
    std::string out;
    for (const std::string& group : groups) {
      const auto options = app->get_options(
          [&](const CLI::Option* o) { return !group.empty() && o->get_group() == group && o->nonpositional(); });
      if (!options.empty()) out += make_group(group, false, options);
    }
    return out;
  }
};

// Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbors.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

// " Nearest: NAME." if at most half of the word differs.
std::string nearest(const std::string& wrong, const std::vector<std::string>& names) {
  constexpr size_t kMaxName = 64;
  if (names.empty() || wrong.size() > kMaxName) return "";
  const auto& best = *std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return distance(wrong, a) < distance(wrong, b);
  });
  return 2 * distance(wrong, best) <= wrong.size() ? " Nearest: " + best + "." : "";
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<GroupFormatter>(); }

void arrange_help(CLI::App& command, const std::string& topic) {
  if (command.get_option_no_throw("--method") == nullptr) return;
  for (CLI::Option* o : command.get_options())
    if (o->nonpositional()) o->group(o->get_name() == "--help" ? "Output" : group_of(o->get_name()));
  if (topic == "all") return;
  const nlohmann::json options = nlohmann::json::parse(tessera::method_options());
  std::set<std::string> methods;
  for (const nlohmann::json& option : options)
    for (const nlohmann::json& m : option.at("methods")) methods.insert(m.at("method").get<std::string>());
  const bool alone = methods.count(topic) > 0;
  if (alone)
    for (CLI::Option* o : command.get_options()) o->group("");
  for (const nlohmann::json& option : options) {
    const std::string name = flag_of(option.at("option").get<std::string>());
    CLI::Option* o = command.get_option_no_throw(name);
    if (o == nullptr) continue;
    if (!alone && group_of(name) == kAdvanced) o->group("");
    for (const nlohmann::json& m : option.at("methods")) {
      if (m.at("method") != topic) continue;
      const auto best = m.at("default").get<std::string>(), paper = m.at("default_paper").get<std::string>();
      o->group("Options of " + topic)
          ->description(fmt::format("{} (preset: {}{})", m.at("help").get<std::string>(), best,
                                    paper == best ? "" : "; paper " + paper));
    }
  }
  command.footer(fmt::format("--help all lists every option; --help {} the options of a method.\n\n{}",
                             fmt::join(methods, ", --help "), command.get_footer()));
}

std::string unknown_argument(const CLI::App& command) {
  const std::vector<std::string> left = command.remaining();
  const auto is_option = [](const std::string& s) { return s.size() > 1 && s[0] == '-' && s != "--"; };
  const auto first = std::find_if(left.begin(), left.end(), is_option);
  std::vector<std::string> names;
  if (first != left.end()) {
    for (const CLI::Option* o : command.get_options())
      for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
    const std::string option = first->substr(0, first->find('='));
    return fmt::format("there is no option {}.{}", option, nearest(option, names));
  }
  if (left.empty()) return "";
  for (const CLI::App* c : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(c->get_name());
  if (names.empty()) return fmt::format("the argument \"{}\" is not expected here.", left[0]);
  return fmt::format("there is no command \"{}\".{}", left[0], nearest(left[0], names));
}
