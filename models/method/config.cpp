#include "models/method/config.h"

#include "base/text/json_fields.h"

namespace tessera {

void check_config(const MethodConfig& config) {
  MethodConfig copy = config;
  for (const Option& o : copy->options()) o.check();
  config->check();
}

nlohmann::json config_json(const MethodConfig& config) {
  nlohmann::json json;
  MethodConfig copy = config;
  for (const Option& o : copy->options())
    if (!o.is_group()) json[o.key] = o.json();
  return json;
}

MethodConfig read_config(const MethodSpec& method, const nlohmann::json& json) {
  MethodConfig config = method.config(false);
  const Fields f(json, "its configuration");
  for (const Option& o : config->options()) o.read(f);
  return config;
}

}  // namespace tessera
