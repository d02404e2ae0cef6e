#include "models/timegan/drawer.h"

#include <algorithm>
#include <numeric>

#include "models/sampling/identities.h"

namespace tessera {
namespace {

class TimeganDrawer : public StepDrawer {
 public:
  TimeganDrawer(const Timegan& network, const SequenceEncoder& encoder, const FittedState& kept, const Target& target,
                int64_t batch)
      : encoder_(encoder),
        seed_(target.seed),
        attributes_(static_cast<size_t>(batch * encoder.attribute_width())),
        identity_(static_cast<size_t>(3 * batch)),
        length_(static_cast<size_t>(batch)) {
    steps_ = compile(target, Purpose::sample_steps, [&](Recorder& r) { record_sampling(r, network, batch); });
    load_states(*steps_, kept.states);
    steps_->bind_if("rows", identity_.data());
    steps_->bind_if("length", length_.data());
    steps_->bind_if("attributes", attributes_.data());
  }

  void draw(const SequencesToDraw& of, float* alphas, int32_t* codes) override {
    std::vector<Candidate> sequences;
    for (const int64_t id : of.ids) sequences.push_back({id, 0});
    identify(sequences, identity_);
    for (size_t i = 0; i < length_.size(); ++i)
      length_[i] = static_cast<float>(of.lengths[std::min(i, of.lengths.size() - 1)]);
    if (!attributes_.empty()) std::copy_n(of.features, attributes_.size(), attributes_.begin());
    steps_->refresh({"rows", "length", "attributes"});
    steps_->run(1);
    const std::vector<float> x = steps_->read<float>(steps_->find("x"));
    const auto n = static_cast<int64_t>(of.ids.size());
    from_features(encoder_.steps(), x.data(), n * encoder_.longest(), alphas, codes);
    draw_modes(x.data(), of.ids, codes);
  }

 private:
  // Whether a number is missing or its column's atom is drawn by the units of the choice: they match its shares long
  // before one of them is the larger one in the right steps.
  void draw_modes(const float* features, const std::vector<int64_t>& ids, int32_t* codes) const {
    constexpr uint32_t kUse = 1;  // of Purpose::decode; 0: rare categories
    const RowLayout& layout = encoder_.steps();
    const int64_t longest = encoder_.longest();
    uint32_t code = 0;
    for (const Span& s : layout.spans) {
      if (s.part == Span::Part::alpha) continue;
      for (size_t row = 0; s.part == Span::Part::mode && row < ids.size() * static_cast<size_t>(longest); ++row) {
        const auto step = static_cast<int64_t>(row) % longest;
        const int64_t id = ids[row / static_cast<size_t>(longest)] * longest + step;
        const Philox p = random_words(seed_, Purpose::decode, code, static_cast<uint64_t>(id), kUse);
        const float* units = features + static_cast<int64_t>(row) * layout.data_width + s.start;
        float left = open_uniform(p.word[0]) * std::accumulate(units, units + s.width, 0.0f);
        int32_t& choice = codes[static_cast<int64_t>(row) * layout.codes() + code];
        for (choice = 0; choice + 1 < s.width && left >= units[choice]; ++choice) left -= units[choice];
      }
      ++code;
    }
  }

  const SequenceEncoder& encoder_;
  uint64_t seed_;
  std::vector<float> attributes_;
  std::vector<int32_t> identity_;
  std::vector<float> length_;
  std::unique_ptr<Program> steps_;
};

}  // namespace

std::unique_ptr<StepDrawer> timegan_drawer(const Timegan& network, const SequenceEncoder& encoder,
                                           const FittedState& kept, const Target& target, int64_t batch) {
  return std::make_unique<TimeganDrawer>(network, encoder, kept, target, batch);
}

}  // namespace tessera
