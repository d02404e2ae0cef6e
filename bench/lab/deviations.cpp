// The cost of each of the reference's ways of sampling, from one trained model: rows drawn with one step done the
// reference's way (results: docs/methods/fidelity.md).
//   lab_deviations MODEL ROWS SEED OUTPUT.csv [log] [batch] [argmax]
//     log     conditions by log-frequency instead of the real frequency
//     batch   batch norm with the statistics of each 500 rows instead of the stored ones
//     argmax  the most likely category instead of a drawn one
#include <cmath>
#include <cstdio>
#include <set>

#include "engine/passes/passes.h"
#include "engine/run/program.h"
#include "models/ctgan/method.h"
#include "models/model/model_state.h"
#include "tables/arrow/export.h"
#include "tables/csv/writer.h"

using namespace tessera;

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: lab_deviations MODEL ROWS SEED OUTPUT.csv [log] [batch] [argmax]\n");
    return 2;
  }
  try {
    const std::set<std::string> how(argv + 5, argv + argc);
    const Model model = Model::load(argv[1]);
    const RowModel& state = *model.shared_rows();
    const Ctgan m(state.encoder.layout(), state.config.as<CtganConfig>());
    const int64_t rows = std::atoll(argv[2]), batch = 500;
    const uint64_t seed = static_cast<uint64_t>(std::atoll(argv[3]));
    Team team;
    const Monitor monitor;

    std::vector<int64_t> weights = state.kept.condition_rows;
    if (how.count("log") != 0)
      for (int64_t& w : weights) w = static_cast<int64_t>(1e6 * std::log1p(static_cast<double>(w)));
    const ConditionDraw draw = real_frequencies(state.encoder.layout(), weights);

    Plan plan;
    Recorder r(plan);
    r.plan.tables.push_back(m.spans);
    r.own(m.generator);
    const Var cumulative = r.input("cumulative", {1, std::max<int64_t>(m.cond, 1)}),
              start = r.input("start", {draw.columns() + 1, 1}, DType::index);
    const Var none = r.input("none", {1, 1}, DType::index);
    const Var index =
        r.emit(DrawConditions{r.next_purpose(), batch, draw.columns(), 0}, {cumulative, start, none, none, Var{}})[0];
    const Condition c{index, m.cond > 0 ? r.emit1(SparseDense{m.cond, 1}, {index, Var{}}) : Var{}};
    const Var logits = generate(m, r.normal("z", {batch, m.config.embedding_dim}), c,
                                how.count("batch") != 0 ? Norm::training : Norm::inference);
    const Var noise = how.count("argmax") != 0 ? fill(r, logits.shape(), 0.5) : r.uniform("u", logits.shape());
    const auto drawn = r.emit(SpanSample{m.spans->table(), 0x1p-24, 1 - 0x1p-24}, {logits, noise});
    r.output(drawn[0], "codes");
    r.output(drawn[1], "alphas");
    optimize(plan);
    Program p(std::move(plan), cpu_kernels(), team, seed);
    load_states(p, state.kept.states);
    const int32_t zero = 0;
    p.bind("cumulative", draw.cumulative.data());
    p.bind("start", draw.start.data());
    if (p.plan().find_leaf("none") != kNone) p.bind("none", &zero);

    int64_t made = 0;
    ArrowArrayStream stream;
    table_stream(
        model.schema(),
        [&](Table& out) {
          if (made >= rows) return false;
          p.run(1);
          const View codes = p.view(p.find("codes")), alphas = p.view(p.find("alphas"));
          std::vector<int64_t> ids;
          for (int64_t i = 0; i < std::min(batch, rows - made); ++i) ids.push_back(made + i);
          out = state.encoder.decode(static_cast<const float*>(alphas.data), static_cast<const int32_t*>(codes.data),
                                     ids.data(), static_cast<int64_t>(ids.size()), seed);
          made += static_cast<int64_t>(ids.size());
          return true;
        },
        &stream);
    CsvWriteOptions write;
    write.path = argv[4];
    write.overwrite = true;
    csv_write(&stream, write, monitor);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
