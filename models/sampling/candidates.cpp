#include "models/sampling/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/sampling/identities.h"
#include "tables/identifiers/identifier.h"
#include "tables/notice.h"

namespace tessera {
namespace {

constexpr int64_t kDefaultBatch = 4096;
constexpr int64_t kDeviceBatch = 65'536;  // each costs a launch, two copies and a wait, and occupies the whole device
constexpr int64_t kMinBatch = 16;         // smallest batch to try when memory is short
constexpr double kFewEffective = 0.5;     // share of effective candidates below which a notice names it

}  // namespace

Candidates::Candidates(std::shared_ptr<const RowModel> model, const SampleOptions& options, const Where& where,
                       bool checked, Tier tier, Team& team, const Monitor& monitor)
    : model_(std::move(model)),
      options_(options),
      where_(where),
      checked_(checked),
      tier_(tier),
      condition_(options.where.empty() ? 0 : fingerprint_of(options.where)),
      team_(team),
      monitor_(monitor) {}

bool Candidates::halve_batch() {
  if (batch_ <= kMinBatch) return false;
  max_batch_ = batch_ / 2;
  program_.reset();
  notice(monitor_, fmt::format("A batch of {} rows does not fit into memory: continuing with {}.", batch_, max_batch_));
  return true;
}

void Candidates::build(int64_t rows) {
  if (program_ != nullptr || !model_->learned()) return;
  // At least two: with one row a bias and a batch have the same shape, sums would be computed in another order, and
  // the row's last bits would differ.
  Device& device = options_.device ? *options_.device : Device::processor();
  const int64_t chosen = options_.batch > 0 ? options_.batch : device.is_processor() ? kDefaultBatch : kDeviceBatch;
  batch_ = std::max<int64_t>(std::min(chosen, rows), 2);
  batch_ = std::min(batch_, max_batch_);
  method_ = model_->method();
  allowed_ = {};
  if (!where_.empty()) allowed_ = allowed_levels(where_, *model_, ShownColumns(*model_));
  generator_ = method_->row_generator(model_->kept, allowed_.levels, options_.seed, team_);
  if (generator_->effective() < kFewEffective)
    notice(monitor_,
           fmt::format("`where`: columns before those of the condition are corrected by importance; {:.2g} % of the "
                       "candidates are effective.",
                       100 * generator_->effective()));
  if (tier_ != Tier::off)
    acceptance_ = std::make_unique<Acceptance>(model_->encoder, model_->calibration, tier_, options_.min_yield);
  program_ =
      compile({team_, options_.seed, device, {}, options_.precision}, Purpose::sample, [&](Recorder& r) { record(r); });
  load_states(*program_, model_->kept.states);
  identity_.resize(static_cast<size_t>(3 * batch_));
  program_->bind_if("rows", identity_.data());
  generator_->bind(*program_);
  const std::string kept = closed_up() ? "kept." : "";
  std::vector<Id> watched{program_->find(kept + "codes"), program_->find(kept + "alphas")};
  code_width_ = program_->plan().shape(watched[0]).cols;
  alpha_width_ = program_->plan().shape(watched[1]).cols;
  if (acceptance_ != nullptr) {
    acceptance_->bind(*program_);
    watched.insert(watched.end(), {program_->find("log_weight"), program_->find("kept")});
    if (closed_up()) watched.insert(watched.end(), {program_->find("kept.count"), program_->find("kept.row")});
  }
  program_->watch(watched);
}

// A batch of candidates; under calibration also their acceptance and compaction.
void Candidates::record(Recorder& r) const {
  generator_->record(r, batch_);
  if (acceptance_ == nullptr) return;
  const Var codes = r.var(r.plan.find("codes")), alphas = r.var(r.plan.find("alphas"));
  const Var kept = acceptance_->record(r, codes, alphas);
  if (!closed_up()) return;
  const auto closed = r.emit(CompactRows{}, {kept, codes, alphas});
  for (const auto& [value, name] : {std::pair{closed[0], "kept.count"},
                                    {closed[1], "kept.row"},
                                    {closed[2], "kept.codes"},
                                    {closed[3], "kept.alphas"}})
    r.output(value, name);
}

void Candidates::begin(const std::vector<Candidate>& candidates) {
  if (program_ == nullptr) return;
  identify(candidates, identity_);
  generator_->choose(*program_, candidates);
  program_->refresh({"rows"});
  program_->start(1);
}

Candidates::Decoded Candidates::decode(const std::vector<Candidate>& candidates) {
  Decoded out;
  const float* alphas = nullptr;
  const int32_t* codes = nullptr;
  if (program_ != nullptr) {
    program_->finish();
    codes = program_->watched<int32_t>(0);
    alphas = program_->watched<float>(1);
  }
  if (closed_up()) {
    const int32_t* row = program_->watched<int32_t>(5);
    // the last candidate is repeated to fill the batch
    out.row.assign(
        row, std::lower_bound(row, row + *program_->watched<int32_t>(4), static_cast<int32_t>(candidates.size())));
  } else {
    out.row.resize(candidates.size());
    std::iota(out.row.begin(), out.row.end(), 0);
  }
  const int64_t n = static_cast<int64_t>(out.row.size());
  std::vector<int64_t> ids;
  std::vector<int32_t> tries;
  for (const int32_t k : out.row)
    ids.push_back(candidates[static_cast<size_t>(k)].row), tries.push_back(candidates[static_cast<size_t>(k)].attempt);
  out.slices.resize(static_cast<size_t>((n + kSlice - 1) / kSlice));
  team_.for_each(static_cast<int64_t>(out.slices.size()), [&](int64_t s) {
    const int64_t begin = s * kSlice, rows = std::min(kSlice, n - begin);
    Table& slice = out.slices[static_cast<size_t>(s)];
    slice = model_->encoder.decode(alphas + begin * alpha_width_, codes + begin * code_width_, ids.data() + begin, rows,
                                   options_.seed, tries.data() + begin, condition_,
                                   allowed_.parts.empty() ? nullptr : &allowed_.parts);
    if (tier_ != Tier::off) model_->calibration.map(slice, ids.data() + begin, tries.data() + begin, options_.seed);
    model_->rules.restore(slice);
  });
  return out;
}

std::optional<Candidates::Weights> Candidates::weights() const {
  if (acceptance_ == nullptr) return {};
  return Weights{program_->watched<float>(2), program_->watched<float>(3)};
}

}  // namespace tessera
