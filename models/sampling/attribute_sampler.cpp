#include "models/sampling/attribute_sampler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "engine/run/compile.h"
#include "models/sampling/identities.h"
#include "models/sampling/shown.h"

namespace tessera {
namespace {

// "length" for "(length)", unless a column of the table has that name.
void rename_own(Table& attributes, const Table& schema) {
  for (Column& c : attributes.columns) {
    if (c.name != kLengthColumn && c.name != kStartColumn) continue;
    const std::string bare = c.name.substr(1, c.name.size() - 2);
    if (schema.find(bare) == nullptr) c.name = bare;
  }
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
  if (!options.where.empty() || !model_->rules.checked().empty()) parse(options.where);
  failed_.assign(where_.terms.size() + breaks_.size(), 0);
}

void AttributeSampler::parse(const std::string& where) {
  const std::vector<Candidate> first{{0, 0}};
  run(first);
  Table schema = rows_of(first);
  for (const std::string& rule : model_->rules.checked()) breaks_.push_back(broken_where(rule, schema));
  if (where.empty()) return;
  rename_own(schema, model_->schema());
  std::vector<std::string> names;
  bool starts = false;
  for (const Column& c : schema.columns) {
    if (c.name == kStartDay) continue;
    names.push_back(quoted_name(c.name));  // as a condition names it
    starts |= c.name.starts_with(start_of(""));
  }
  try {
    where_ = parse_where(where, schema);
  } catch (const Error& e) {
    const std::string column = column_of_steps(where, schema);
    throw Error(
        e.code(),
        fmt::format("{}\n  Conditions on sequences must use values that are constant per sequence: {}.{}",
                    column.empty() ? e.what() : fmt::format("`where`: column \"{}\" varies within a sequence.", column),
                    fmt::join(names, ", "), starts ? " (start) names the first value of a column." : ""));
  }
}

// A column of the condition that varies within a sequence; "" if it names none.
std::string AttributeSampler::column_of_steps(const std::string& where, const Table& attributes) const {
  const Table all = model_->schema();
  try {
    for (const WhereTerm& t : parse_where(where, all).terms)
      for (const int c : columns_of(t))
        if (const std::string& name = all.columns[static_cast<size_t>(c)].name; attributes.find(name) == nullptr)
          return name;
  } catch (const Error&) {}
  return "";
}

void AttributeSampler::run(const std::vector<Candidate>& candidates) {
  if (program_ == nullptr) return;
  identify(candidates, identity_);
  generator_->choose(*program_, candidates);
  program_->run(1);
  candidate_codes_ = program_->read<int32_t>(program_->find("codes"));
  candidate_alphas_ = program_->read<float>(program_->find("alphas"));
  // the decoder's Gaussian exceeds the range seen in training
  for (float& a : candidate_alphas_) a = std::clamp(a, -1.0f, 1.0f);
}

Table AttributeSampler::rows_of(const std::vector<Candidate>& candidates) const {
  std::vector<int64_t> ids;
  for (const Candidate& c : candidates) ids.push_back(c.row);
  Table rows = model_->encoder.decode_attributes(candidate_alphas_.data(), candidate_codes_.data(), ids.data(),
                                                 static_cast<int64_t>(ids.size()), seed_);
  model_->rules.restore_once(rows);
  return rows;
}

std::vector<char> AttributeSampler::meeting(const std::vector<Candidate>& candidates) {
  std::vector<char> keep(candidates.size(), 1);
  if (any_row()) return keep;
  const Table rows = rows_of(candidates);
  std::vector<int64_t> failed, unused;
  match_where(where_, rows, keep, failed);
  for (size_t t = 0; t < failed.size(); ++t) failed_[t] += failed[t];
  std::vector<char> broken;
  for (size_t rule = 0; rule < breaks_.size(); ++rule) {
    match_where(breaks_[rule], rows, broken, unused);
    failed_[where_.terms.size() + rule] += std::count(broken.begin(), broken.end(), 1);
    for (size_t i = 0; i < broken.size(); ++i)
      if (broken[i] != 0) keep[i] = 0;
  }
  seen_ += static_cast<int64_t>(candidates.size());
  return keep;
}

void AttributeSampler::take(int64_t to, int64_t candidate) {
  const RowLayout& layout = model_->encoder.attributes();
  std::copy_n(candidate_alphas_.begin() + candidate * layout.alphas(), layout.alphas(),
              alphas_.begin() + to * layout.alphas());
  std::copy_n(candidate_codes_.begin() + candidate * layout.codes(), layout.codes(),
              codes_.begin() + to * layout.codes());
}

void AttributeSampler::repeat_last(int64_t sequences) {
  const auto repeat = [&](auto& values, int64_t width) {
    for (int64_t i = sequences; i < batch_; ++i)
      std::copy_n(values.begin() + (sequences - 1) * width, width, values.begin() + i * width);
  };
  const RowLayout& layout = model_->encoder.attributes();
  repeat(alphas_, layout.alphas()), repeat(codes_, layout.codes());
  to_features(layout, alphas_.data(), codes_.data(), batch_, features_.data());
}

Table AttributeSampler::draw(const std::vector<int64_t>& sequences) {
  const auto n = static_cast<int64_t>(sequences.size());
  std::vector<int64_t> pending(sequences.size()), attempts(sequences.size(), 0);
  std::iota(pending.begin(), pending.end(), 0);
  while (!pending.empty()) {
    monitor_.check_cancelled("sample");
    // as many attempts for each as fit into a batch; without a condition one suffices
    const int64_t each = any_row() ? 1 : std::max<int64_t>(batch_ / static_cast<int64_t>(pending.size()), 1);
    std::vector<Candidate> candidates;
    for (const int64_t p : pending)
      for (int64_t k = 0; k < each; ++k)
        candidates.push_back(
            {sequences[static_cast<size_t>(p)], static_cast<int32_t>(attempts[static_cast<size_t>(p)] + k)});
    run(candidates);
    const std::vector<char> keep = meeting(candidates);
    std::vector<int64_t> left;
    for (size_t at = 0; at < pending.size(); ++at) {
      const auto first = keep.begin() + static_cast<int64_t>(at) * each;
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
  if (program_ != nullptr) repeat_last(n);
  return model_->encoder.decode_attributes(alphas_.data(), codes_.data(), sequences.data(), n, seed_);
}

void AttributeSampler::give_up(int64_t sequence, int64_t tries) const {
  const size_t rarest = static_cast<size_t>(std::max_element(failed_.begin(), failed_.end()) - failed_.begin());
  throw Error(
      ErrorCode::condition,
      fmt::format(
          "`where`: none of {1} candidates for sequence {0} satisfied it.\n  The rare term is \"{2}\": {3} of {4} "
          "candidates satisfied it. Relax the condition, or allow more candidates with `max_tries`.",
          sequence, tries,
          rarest < where_.terms.size() ? where_.terms[rarest].text
                                       : model_->rules.checked()[rarest - where_.terms.size()],
          seen_ - failed_[rarest], seen_));
}

}  // namespace tessera
