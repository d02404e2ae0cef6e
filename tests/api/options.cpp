// The options of the methods: tessera_method_options(), fits and docs/use/command-line.md agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/tessera.hpp"

namespace {

using nlohmann::json;

json listed() { return json::parse(tessera::method_options()); }

tessera_status check(const std::string& method, const std::string& settings) {
  tessera_fit_options o{};
  o.struct_size = sizeof o;
  o.method = method.c_str();
  o.settings = settings.c_str();
  tessera_sequence_options windows{};
  windows.struct_size = sizeof windows;
  windows.length = 4;
  if (method == "timegan") o.sequences = &windows;
  return tessera_check_fit_options(&o);
}

// A value as text: counts and widths are whole.
std::string text_of(double value, const std::string& kind) {
  std::ostringstream out;
  out.precision(17);
  if (kind == "number") out << value;
  else out << static_cast<int64_t>(value);
  return out.str();
}

TEST(MethodOptions, AcceptDefaultsAndBoundsOnly) {
  int bounds = 0;
  for (const json& option : listed()) {
    const std::string name = option["option"], kind = option["kind"];
    for (const json& m : option["methods"]) {
      const std::string method = m["method"];
      const auto gives = [&](const std::string& value) { return check(method, name + "=" + value); };
      EXPECT_EQ(gives(m["default"]), TESSERA_OK) << name << ": " << tessera_last_error();
      EXPECT_EQ(gives(m["default_paper"]), TESSERA_OK) << name << ": " << tessera_last_error();
      for (const char* nonsense : {"", "x", "1e", "--", "0x10", "nan"}) {
        EXPECT_EQ(gives(nonsense), TESSERA_E_USAGE) << name << " " << nonsense;
        EXPECT_NE(std::string(tessera_last_error()).find(name), std::string::npos) << tessera_last_error();
      }
      if (!m.contains("low")) continue;
      const double low = m["low"], high = m["high"], step = kind == "number" ? 0 : 1;
      // the one is a multiple of the other
      const bool of_packs = method == "ctgan" && (name == "batch_size" || name == "pac");
      EXPECT_EQ(of_packs ? TESSERA_OK : gives(text_of(high, kind)), TESSERA_OK) << tessera_last_error();
      EXPECT_EQ(gives(text_of(kind == "number" ? high * 1.001 : high + step, kind)), TESSERA_E_USAGE) << name;
      EXPECT_EQ(gives(text_of(low - (kind == "number" ? 1e-9 : 1), kind)), TESSERA_E_USAGE) << name;
      ++bounds;
    }
  }
  EXPECT_GE(bounds, 20);
}

TEST(MethodOptions, NameTheOwnersOfForeignOptions) {
  EXPECT_EQ(check("tvae", "pac=3"), TESSERA_E_USAGE);
  const std::string message = tessera_last_error();
  EXPECT_NE(message.find("`pac` belongs to method ctgan"), std::string::npos) << message;
  EXPECT_NE(message.find("`encoder_dim"), std::string::npos) << message;
  EXPECT_EQ(check("", "pac=5;batch-size=50"), TESSERA_OK) << "the options choose the method: " << tessera_last_error();
  EXPECT_EQ(check("", "pac=5;encoder-dim=8"), TESSERA_E_USAGE);
  EXPECT_EQ(check("", "colour=5"), TESSERA_E_USAGE);
  EXPECT_NE(std::string(tessera_last_error()).find("`colour`"), std::string::npos);
  for (const char* no_pair : {"pac", "=1", "=", "epochs=1;=2"}) {
    EXPECT_EQ(check("", no_pair), TESSERA_E_USAGE) << no_pair;
    EXPECT_NE(std::string(tessera_last_error()).find("is not name=value"), std::string::npos) << tessera_last_error();
  }
}

// Without a name, the method is the first one that supports all given options.
TEST(MethodOptions, ChooseTheMethod) {
  const tessera::Context context;
  const auto method = [&](const char* settings, const char* calibrate, const char* preset) {
    tessera_fit_options o{};
    o.struct_size = sizeof o;
    const std::string all = std::string("epochs=0;") + settings;
    o.settings = all.c_str(), o.calibrate = calibrate, o.preset = preset;
    const auto model = tessera::Model::fit(context, tessera::example(context, "people", 60, 1), o);
    return json::parse(model.describe())["method"].get<std::string>();
  };
  EXPECT_EQ(method("", nullptr, nullptr), "made");
  EXPECT_EQ(method("batch-size=50", nullptr, nullptr), "made");
  EXPECT_EQ(method("", "off", "best"), "made");
  EXPECT_EQ(method("", "full", nullptr), "tvae");
  EXPECT_EQ(method("", "marginals", nullptr), "tvae");
  EXPECT_EQ(method("", nullptr, "paper"), "tvae");
  EXPECT_EQ(method("encoder-dim=8", nullptr, nullptr), "tvae");
  EXPECT_EQ(method("pac=5", nullptr, nullptr), "ctgan");
}

TEST(MethodOptions, AreListedInTheDocumentation) {
  std::ifstream in(std::string(TESSERA_SOURCE_DIR) + "/docs/use/command-line.md");
  std::stringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  ASSERT_FALSE(page.empty());
  for (const json& option : listed()) {
    std::string value = option["value"];
    for (size_t at = 0; (at = value.find('|', at)) != std::string::npos; at += 2) value.insert(at, "\\");
    std::string flag = "--" + option["option"].get<std::string>();
    std::replace(flag.begin(), flag.end(), '_', '-');
    const std::string row = "| `" + flag + " " + value + "` | " + option["default"].get<std::string>() + " | " +
                            option["help"].get<std::string>() + " |\n";
    EXPECT_NE(page.find(row), std::string::npos) << "docs/use/command-line.md lacks the row\n" << row;
  }
}

}  // namespace
