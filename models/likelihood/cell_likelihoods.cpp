#include "models/likelihood/cell_likelihoods.h"

#include <algorithm>
#include <cmath>

#include "engine/run/compile.h"
#include "models/made/network.h"

namespace tessera {
namespace {

constexpr int64_t kBatch = 1024;

}  // namespace

struct CellLikelihoods::Chain {
  Chain(const RowModel& model, Team& team)
      : made(model.encoder.layout(), model.config.as<MadeConfig>()),
        level(static_cast<size_t>(kBatch) * made.columns.size()) {
    const Table schema = model.encoder.schema();
    for (size_t k = 0; k < made.columns.size(); ++k) {
      const int column = made.columns[k].column;
      if (!model.rules.sees(schema.columns[static_cast<size_t>(column)].name))
        counted.push_back(k), columns.push_back(column);
    }
    program = compile({team, 1, Device::processor()}, Purpose::held_out, [&](Recorder& r) {
      own(r, made);
      const Var index = r.input("level", {kBatch, static_cast<int64_t>(made.columns.size())}, DType::index);
      r.output(surprises(r, made, index, false), "surprise");
    });
    program->bind_if("level", level.data());
    load_states(*program, {{made.network.name, model.kept.states.at(made.network.name)}});
  }

  Made made;
  std::vector<size_t> counted;  // of the network's columns: a computed value has no probability of its own
  std::vector<int> columns;     // in the encoder, of those
  std::vector<int32_t> level;
  std::unique_ptr<Program> program;
};

CellLikelihoods::CellLikelihoods(const RowModel& model, Team& team) : chain_(std::make_unique<Chain>(model, team)) {}
CellLikelihoods::~CellLikelihoods() = default;
const std::vector<int>& CellLikelihoods::columns() const { return chain_->columns; }

std::vector<double> CellLikelihoods::of(const EncodedTable& rows) {
  Chain& c = *chain_;
  const size_t columns = c.made.columns.size();
  std::vector<double> out;
  out.reserve(static_cast<size_t>(rows.rows) * c.columns.size());
  for (int64_t first = 0; first < rows.rows; first += kBatch) {
    const int64_t n = std::min(kBatch, rows.rows - first);
    for (size_t i = 0; i < c.level.size(); ++i) {  // the last row also fills the rest of its batch
      const auto row = static_cast<size_t>(first + std::min(static_cast<int64_t>(i / columns), n - 1));
      c.level[i] = c.made.columns[i % columns].start + rows.codes[row * columns + i % columns];
    }
    c.program->refresh({"level"});
    c.program->run(1);
    const std::vector<float> each = c.program->read<float>(c.program->find("surprise"));
    for (size_t i = 0; i < static_cast<size_t>(n); ++i)
      for (const size_t k : c.counted) {
        const float surprise = each[i * columns + k];
        if (!std::isfinite(surprise))
          throw Error(
              ErrorCode::format,
              "The model gives a cell a likelihood that is not a finite number: its weights are damaged.\n  Use "
              "an intact copy of its file, or fit the model again.");
        out.push_back(-static_cast<double>(surprise));
      }
  }
  return out;
}

}  // namespace tessera
