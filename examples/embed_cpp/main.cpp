// A C++ program: learns a table from a CSV file, saves, loads, samples under a condition, reads the report. It uses
// std::make_shared and, where asked, {fmt}, which the library uses too: linked with libtessera.a, its copies and the
// library's must not meet.
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <tessera/tessera.hpp>
#if defined(WITH_FMT) && __has_include(<fmt/format.h>)
#define FMT_HEADER_ONLY
#include <fmt/format.h>
#endif

namespace {

int64_t rows_of(tessera::Rows rows) {
  int64_t count = 0;
  for (const auto& batch : rows) count += batch.rows();
  return count;
}

void expect(bool truth, const char* what) {
  if (!truth) throw std::runtime_error(std::string("not so: ") + what);
}

}  // namespace

int main(int argc, char** argv) try {
  expect(argc == 2, "usage: embed model-file");
  const std::string path = argv[1], table = path + ".csv";
  const auto shared = std::make_shared<const tessera::Context>();
  const tessera::Context& context = *shared;
  tessera::write_csv(context, tessera::example(context, "people", 300, 1), table);

  tessera_fit_options options{};
  options.settings = "epochs=1;batch-size=50";
  tessera::Model::fit(context, tessera::read_csv(context, table), options).save(path, true);
  const auto model = tessera::Model::load(path);
  expect(model.describe().find("\"made\"") != std::string::npos, "the description names the method");
  expect(rows_of(model.sample(context, 0, 50)) == 50, "50 rows");

  try {
    tessera_sample_options impossible{};
    impossible.where = "no_such_column = 1";
    model.sample(context, 0, 1, impossible);
    expect(false, "an unknown column is refused");
  } catch (const tessera::Error& e) { expect(e.status() == TESSERA_E_CONDITION, "its status is CONDITION"); }
  std::remove(table.c_str());
#ifdef FMT_HEADER_ONLY
  expect(fmt::format("{:.3f} {:>5}", 2.5, "rows") == "2.500  rows", "the program's own {fmt} formats");
#endif
  std::cout << "C++ program with tessera " << tessera_version() << "\n";
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
