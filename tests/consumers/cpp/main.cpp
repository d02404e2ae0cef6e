// A C++ program: learns a table from a CSV file, saves, loads, samples under a condition, reads the report.
#include <cstdio>
#include <iostream>
#include <string>
#include <tessera/tessera.hpp>

namespace {

int64_t rows_of(tessera::Rows rows) {
  int64_t count = 0;
  for (ArrowArray batch{}; rows.get()->get_next(rows.get(), &batch) == 0 && batch.release != nullptr; batch.release(&batch)) count += batch.length;
  return count;
}

void expect(bool truth, const char* what) {
  if (!truth) throw std::runtime_error(std::string("not so: ") + what);
}

}  // namespace

int main(int argc, char** argv) try {
  expect(argc == 2, "usage: consumer model-file");
  const std::string path = argv[1], table = path + ".csv";
  const tessera::Context context;
  tessera::write_csv(context, tessera::example(context, "people", 300, 1), table);

  tessera_fit_options options{};
  options.epochs = 1;
  options.batch_size = 50;
  tessera::Model::fit(context, tessera::read_csv(context, table), options).save(path, true);
  const auto model = tessera::Model::load(path);
  expect(model.describe().find("\"tvae\"") != std::string::npos, "the description names the method");
  expect(rows_of(model.sample(context, 0, 50)) == 50, "50 rows");

  try {
    tessera_sample_options impossible{};
    impossible.where = "no_such_column = 1";
    model.sample(context, 0, 1, impossible);
    expect(false, "an unknown column is refused");
  } catch (const tessera::Error& e) {
    expect(e.status() == TESSERA_E_CONDITION, "its status is CONDITION");
  }
  std::remove(table.c_str());
  std::cout << "C++ consumer of tessera " << tessera_version() << "\n";
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
