// The attributes of a sequence (static columns, length and start), drawn again until they satisfy a condition.
#pragma once
#include <memory>
#include <vector>

#include "models/fitted/sequence_model.h"
#include "models/sampling/row_stream.h"
#include "tables/expression/where.h"

namespace tessera {

class AttributeSampler {
 public:
  // Batches of `batch` sequences. Throws Error(condition | usage) if `where` is not about attributes.
  AttributeSampler(std::shared_ptr<const SequenceModel> model, int64_t batch, const SampleOptions& options, Team& team,
                   const Monitor& monitor);

  // For at most `batch` sequences: the first candidate of each that satisfies the condition, which depends only on
  // (model, seed, sequence). Throws Error(condition) naming the rarest term if max_tries candidates fail.
  Table draw(const std::vector<int64_t>& sequences);
  // The same as input of the networks, the last one repeated: [batch, encoder.attribute_width()].
  const float* features() const { return features_.data(); }
  const int32_t* codes() const { return codes_.data(); }  // [batch, encoder.attributes().codes()]
  int64_t candidates() const { return candidates_; }      // tried for the sequences so far

 private:
  void parse(const std::string& where);
  std::string column_of_steps(const std::string& where, const Table& attributes) const;
  void run(const std::vector<Candidate>& candidates);  // at most a batch
  // Rows of the last candidates, with the names that conditions use; and which of them satisfy the condition.
  Table rows_of(const std::vector<Candidate>& candidates) const;
  std::vector<char> meeting(const std::vector<Candidate>& candidates);
  void take(int64_t to, int64_t candidate);
  void repeat_last(int64_t sequences);
  bool any_row() const { return where_.empty() && breaks_.empty(); }
  [[noreturn]] void give_up(int64_t sequence, int64_t tries) const;

  std::shared_ptr<const SequenceModel> model_;
  const Monitor& monitor_;
  uint64_t seed_;
  int64_t batch_, most_tries_;
  Where where_;
  std::vector<Where> breaks_;  // what breaks a checked rule
  std::unique_ptr<RowMethod> method_;
  std::unique_ptr<RowGenerator> generator_;
  std::unique_ptr<Program> program_;  // null: nothing varies between sequences
  std::vector<int32_t> identity_;
  std::vector<float> alphas_, candidate_alphas_;  // [batch, alphas]
  std::vector<int32_t> codes_, candidate_codes_;  // [batch, codes]
  std::vector<float> features_;
  int64_t candidates_ = 0, seen_ = 0;
  std::vector<int64_t> failed_;  // candidates that violate each term, then each rule
};

}  // namespace tessera
