// Recalibrates a trained model, without training, to measure the tiers on a table (results:
// bench/results/calibration.md).
//   lab_calibrate MODEL DATA.csv SEED CALIBRATED_MODEL
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "models/model/model.h"
#include "tables/csv/reader.h"

using namespace tessera;

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: lab_calibrate MODEL DATA.csv SEED CALIBRATED_MODEL\n");
    return 2;
  }
  try {
    const Model model = Model::load(argv[1]);
    Team team;
    Monitor monitor;
    const auto begin = std::chrono::steady_clock::now();
    auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    monitor.on_progress = [&](const Progress& p) {
      std::fprintf(stderr, "%6.2f %s %g/%g %s %s\n", seconds(), p.phase, p.done, p.total, p.unit, p.note.c_str());
    };
    const Table like = model.schema();
    CsvOptions csv;
    csv.path = argv[2];
    csv.like = &like;
    const Table table = csv_read(csv, team, monitor);
    FitOptions options;
    options.seed = static_cast<uint64_t>(std::atoll(argv[3]));
    const double start = seconds();
    const Model calibrated = model.calibrated(table, options, team, monitor);
    std::printf("%.2f s\n%s\n", seconds() - start, calibrated.describe()["calibration"].dump(1).c_str());
    calibrated.save(argv[4], true);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
