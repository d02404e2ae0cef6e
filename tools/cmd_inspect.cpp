// tessera inspect data.csv · tessera inspect data.tessera
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "outline.h"

namespace {

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

void run(const SharedOptions& shared, const Arguments& a) {
  Session session(shared);
  const std::string json = is_model(a.file) ? tessera::Model::load(a.file).describe() : tessera::inspect(session.context(), tessera::read_csv(session.context(), a.file, a.csv.options()));
  session.progress().clear();
  print(shared.json ? json + "\n" : outline(nlohmann::ordered_json::parse(json)));
}

}  // namespace

void add_inspect(Program& program) {
  CLI::App* command = program.add("inspect", "Shows what was understood of a table, column by column and why, or what a model holds");
  auto a = std::make_shared<Arguments>();
  command->add_option("file", a->file, "CSV file, - for standard input, or a model")->required();
  a->csv.add_to(*command);
  command->callback([&program, a] { program.run = [&program, a] { run(program.shared, *a); }; });
}
