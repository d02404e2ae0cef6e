// tessera info
#include "commands.h"
#include "terminal/flags.h"
#include "terminal/outline.h"

void add_info(Program& program) {
  CLI::App* command = program.add("info", "Shows what this build supports on this machine");
  command->callback([&program] {
    program.run = [&program] {
      const std::string json = tessera::info();
      print(program.shared.json ? json + "\n" : as_typed(outline(nlohmann::ordered_json::parse(json))));
    };
  });
}
