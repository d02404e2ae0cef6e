// Methods that hold numbers as modes of a mixture can hold them as quantile bins.
#include "models/tables.h"

namespace tessera::whole {
namespace {

constexpr int64_t kRows = 2000;
constexpr double kGap = 1;  // no number lies nearer to 0

// x has a gap in its middle, and c says on which side of it a row lies.
Table divided() {
  const auto x = [](int64_t i) { return uniform(i) < 0.4 ? -kGap - uniform(i, 1) : kGap + 3 * uniform(i, 1); };
  return table({decimals_by("x", kRows, 4, [&](int64_t i) { return std::round(1e4 * x(i)) / 1e4; }),
                texts_by("c", kRows, [&](int64_t i) { return x(i) < 0 ? "left" : "right"; })});
}

FitOptions in_bins(FitOptions o) {
  o.encoder.numbers = EncoderOptions::Numbers::bins;
  return o;
}

class NumbersAsBins : public testing::TestWithParam<const char*> {
 public:
  static FitOptions options() { return in_bins(GetParam() == std::string("tvae") ? quick_tvae(20) : quick(20)); }
};

TEST_P(NumbersAsBins, AreStoredInTheFile) {
  const Model m = fit(divided(), options());
  const std::string file = file_of(m);
  EXPECT_NE(file.find(R"(\"bins\")"), std::string::npos);
  EXPECT_EQ(file.find(R"(\"modes\")"), std::string::npos);
  const Folder folder;
  write_bytes(folder / "model", file);
  EXPECT_EQ(lines(sample(Model::load(folder / "model"), 500)), lines(sample(m, 500)));
}

TEST_P(NumbersAsBins, MeetConditionsWithAndWithoutCalibration) {
  for (const Tier tier : {Tier::off, Tier::full}) {
    FitOptions o = options();
    o.calibrate = tier;
    const Table rows = sample(fit(divided(), o), 200, where("x between 1.3 and 1.75"));
    EXPECT_EQ(share(rows,
                    [&](int64_t i) {
                      const double x = rows.columns[0].numbers[static_cast<size_t>(i)];
                      return x >= 1.3 && x <= 1.75;
                    }),
              1);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, NumbersAsBins, testing::Values("tvae", "ctgan"));

}  // namespace
}  // namespace tessera::whole
