#include "models/sampling/attribute_sampler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "engine/error.h"
#include "engine/run/compile.h"

namespace tessera {
namespace {

// "length" for "(length)", unless a column of the table has that name.
std::vector<std::string> names_of(const Table& attributes, const Table& schema) {
  std::vector<std::string> out;
  for (const Column& c : attributes.columns) {
    const std::string bare = c.name.size() > 2 ? c.name.substr(1, c.name.size() - 2) : "";
    const bool own = c.name == kLengthColumn || c.name == kStartColumn;
    out.push_back(own && schema.find(bare) == nullptr ? bare : c.name);
  }
  return out;
}

}  // namespace

AttributeSampler::AttributeSampler(std::shared_ptr<const SequenceModel> model, int64_t batch,
                                   const SampleOptions& options, Team& team, const Monitor& monitor)
    : model_(std::move(model)),
      monitor_(monitor),
      seed_(options.seed),
      batch_(batch),
      most_tries_(options.max_tries > 0 ? options.max_tries : kDefaultTries) {
  const SequenceEncoder& encoder = model_->encoder;
  if ((method_ = model_->attribute_method()) != nullptr) {
    identity_.resize(static_cast<size_t>(3 * batch_));
    generator_ = method_->row_generator(model_->attributes, {}, seed_, team);
    program_ = compile({team, seed_}, Purpose::sample, [&](Recorder& r) { generator_->record(r, batch_); });
    load_states(*program_, model_->attributes.states);
    program_->bind_if("rows", identity_.data());
    generator_->bind(*program_);
    features_.resize(static_cast<size_t>(batch_ * encoder.attribute_width()));
    alphas_.resize(static_cast<size_t>(batch_ * encoder.attributes().alphas()));
    codes_.resize(static_cast<size_t>(batch_ * encoder.attributes().codes()));
  }
  if (options.where.empty()) return;
  Tried one{{{0, 0}}, {}, {}};
  try_candidates(one);
  names_ = names_of(one.rows, model_->schema());
  try {
    where_ = parse_where(options.where, named(std::move(one.rows)));
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}\n  Conditions on sequences are on what is decided once for each: {}.",
                                      e.what(), fmt::join(names_, ", ")));
  }
  failed_.assign(where_.terms.size(), 0);
}

Table AttributeSampler::named(Table rows) const {
  for (size_t j = 0; j < rows.columns.size(); ++j) rows.columns[j].name = names_[j];
  return rows;
}

// Runs the program on them, at most a batch.
void AttributeSampler::try_candidates(Tried& tried) {
  std::vector<int64_t> ids;
  for (const Candidate& c : tried.list) ids.push_back(c.row);
  if (program_ != nullptr) {
    for (size_t i = 0; i < identity_.size() / 3; ++i) {
      const Candidate& c = tried.list[std::min(i, tried.list.size() - 1)];
      const auto id = static_cast<uint64_t>(c.row);
      identity_[3 * i] = static_cast<int32_t>(static_cast<uint32_t>(id));
      identity_[3 * i + 1] = static_cast<int32_t>(static_cast<uint32_t>(id >> 32));
      identity_[3 * i + 2] = c.attempt;
    }
    generator_->choose(*program_, tried.list);
    program_->run(1);
    candidate_codes_ = program_->read<int32_t>(program_->find("codes"));
    candidate_alphas_ = program_->read<float>(program_->find("alphas"));
    // the decoder's Gaussian exceeds the range seen in training
    for (float& a : candidate_alphas_) a = std::clamp(a, -1.0f, 1.0f);
  }
  tried.rows = model_->encoder.decode_attributes(candidate_alphas_.data(), candidate_codes_.data(), ids.data(),
                                                 static_cast<int64_t>(ids.size()), seed_);
  tried.keep.assign(ids.size(), 1);
  if (where_.empty()) return;
  std::vector<int64_t> failed;
  match_where(where_, named(tried.rows), tried.keep, failed);
  for (size_t t = 0; t < failed.size(); ++t) failed_[t] += failed[t];
  seen_ += static_cast<int64_t>(ids.size());
}

void AttributeSampler::take(int64_t to, int64_t candidate) {
  const RowLayout& layout = model_->encoder.attributes();
  std::copy_n(candidate_alphas_.begin() + candidate * layout.alphas(), layout.alphas(),
              alphas_.begin() + to * layout.alphas());
  std::copy_n(candidate_codes_.begin() + candidate * layout.codes(), layout.codes(),
              codes_.begin() + to * layout.codes());
}

Table AttributeSampler::draw(const std::vector<int64_t>& sequences) {
  const auto n = static_cast<int64_t>(sequences.size());
  std::vector<int64_t> pending(sequences.size()), attempts(sequences.size(), 0);
  std::iota(pending.begin(), pending.end(), 0);
  Tried tried;
  while (!pending.empty()) {
    monitor_.check_cancelled("sample");
    // as many attempts of each as a batch holds; without a condition the first one serves
    const int64_t each = where_.empty() ? 1 : std::max<int64_t>(batch_ / static_cast<int64_t>(pending.size()), 1);
    tried.list.clear();
    for (const int64_t p : pending)
      for (int64_t k = 0; k < each; ++k)
        tried.list.push_back(
            {sequences[static_cast<size_t>(p)], static_cast<int32_t>(attempts[static_cast<size_t>(p)] + k)});
    try_candidates(tried);
    std::vector<int64_t> left;
    for (size_t at = 0; at < pending.size(); ++at) {
      const auto first = tried.keep.begin() + static_cast<int64_t>(at) * each;
      const int64_t found = std::find(first, first + each, 1) - first;
      int64_t& attempt = attempts[static_cast<size_t>(pending[at])];
      attempt += found;
      if (attempt >= most_tries_) give_up(sequences[static_cast<size_t>(pending[at])], most_tries_);
      if (found == each) left.push_back(pending[at]);
      else if (program_ != nullptr) take(pending[at], static_cast<int64_t>(at) * each + found);
      candidates_ += found + (found < each ? 1 : 0);
    }
    if (program_ == nullptr && !left.empty()) give_up(sequences[static_cast<size_t>(left[0])], 1);
    pending = std::move(left);
  }
  const RowLayout& layout = model_->encoder.attributes();
  if (program_ != nullptr) {
    const auto repeat_last = [&](auto& values, int64_t width) {
      for (int64_t i = n; i < batch_; ++i)
        std::copy_n(values.begin() + (n - 1) * width, width, values.begin() + i * width);
    };
    repeat_last(alphas_, layout.alphas()), repeat_last(codes_, layout.codes());
    to_features(layout, alphas_.data(), codes_.data(), batch_, features_.data());
  }
  return model_->encoder.decode_attributes(alphas_.data(), codes_.data(), sequences.data(), n, seed_);
}

void AttributeSampler::give_up(int64_t sequence, int64_t tries) const {
  const size_t rarest = static_cast<size_t>(std::max_element(failed_.begin(), failed_.end()) - failed_.begin());
  throw Error(ErrorCode::condition,
              fmt::format("--where: sequence {} met it with none of {} candidates.\n  The rare term is `{}`: {} of {} "
                          "candidates met it. Relax the condition, or allow more candidates with --max-tries.",
                          sequence, tries, where_.terms[rarest].text, seen_ - failed_[rarest], seen_));
}

}  // namespace tessera
