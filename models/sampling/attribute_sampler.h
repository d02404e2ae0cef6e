// What is decided once a sequence: its statics, length and start, drawn again until they meet a condition.
#pragma once
#include <memory>
#include <vector>

#include "models/fitted/sequence_model.h"
#include "models/sampling/row_stream.h"
#include "tables/expression/where.h"

namespace tessera {

class AttributeSampler {
 public:
  // Batches of `batch` sequences. Throws Error(condition | usage) for a `where` that is not of attributes.
  AttributeSampler(std::shared_ptr<const SequenceModel> model, int64_t batch, const SampleOptions& options, Team& team,
                   const Monitor& monitor);

  // Of at most `batch` sequences: the first of each one's candidates that meets the condition, which depends on
  // (model, seed, sequence) alone. Throws Error(condition) naming the rarest term if max_tries candidates do not.
  Table draw(const std::vector<int64_t>& sequences);
  // The same as the networks read it, the last one repeated: [batch, encoder.attribute_width()].
  const float* features() const { return features_.data(); }
  int64_t candidates() const { return candidates_; }  // tried for the sequences so far

 private:
  void parse(const std::string& where);
  std::string column_of_steps(const std::string& where, const Table& attributes) const;
  void run(const std::vector<Candidate>& candidates);  // at most a batch
  // Of the candidates that were run last, with the names that conditions use; and which of them meet the condition.
  Table rows_of(const std::vector<Candidate>& candidates) const;
  std::vector<char> meeting(const std::vector<Candidate>& candidates);
  void take(int64_t to, int64_t candidate);
  void repeat_last(int64_t sequences);
  [[noreturn]] void give_up(int64_t sequence, int64_t tries) const;

  std::shared_ptr<const SequenceModel> model_;
  const Monitor& monitor_;
  uint64_t seed_;
  int64_t batch_, most_tries_;
  Where where_;
  std::unique_ptr<RowMethod> method_;
  std::unique_ptr<RowGenerator> generator_;
  std::unique_ptr<Program> program_;  // null: nothing varies from sequence to sequence
  std::vector<int32_t> identity_;
  std::vector<float> alphas_, candidate_alphas_;  // [batch, alphas]
  std::vector<int32_t> codes_, candidate_codes_;  // [batch, codes]
  std::vector<float> features_;
  int64_t candidates_ = 0, seen_ = 0;
  std::vector<int64_t> failed_;  // candidates that miss a term
};

}  // namespace tessera
