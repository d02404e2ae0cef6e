// Grids of an index: found where a table keeps one, kept by every place, and not found in what has none.
#include <nlohmann/json.hpp>
#include <numeric>

#include "sequence/sequences.h"
#include "tables/formats/calendar.h"

namespace tessera {
namespace {
using namespace steps;

IndexGrid grid_of_index(const Column& index, int64_t least = 5, std::vector<int32_t> holders = {}) {
  if (holders.empty()) holders.resize(index.numbers.size()), std::iota(holders.begin(), holders.end(), 0);
  const std::vector<double> values(index.numbers.begin(), index.numbers.end());
  return {index, values, holders, least};
}

Column times(std::vector<double> seconds) { return numbers("t", ColumnType::datetime, std::move(seconds)); }

template <class At>
std::vector<double> listed(int n, At at) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(at(i));
  return out;
}

constexpr double kSecondsPerDay = 86400;
bool is_working(double day) { return weekday_of(static_cast<int64_t>(day)) < 5; }

std::vector<double> working_days(int n, double from = 18000) {
  std::vector<double> out;
  for (double day = from; static_cast<int>(out.size()) < n; ++day)
    if (is_working(day)) out.push_back(day);
  return out;
}

// Every value of the column is a place, places follow each other, and all of them keep `holds`.
template <class Holds>
void expect_grid(const Column& index, const std::string& says, Holds holds) {
  const IndexGrid grid = grid_of_index(index);
  ASSERT_TRUE(grid.any()) << says;
  EXPECT_EQ(grid.text(), says);
  const IndexGrid read = IndexGrid::from_json(grid.to_json());
  EXPECT_EQ(read.to_json(), grid.to_json());
  for (const double x : index.numbers) EXPECT_EQ(read.at(read.place(x)), x) << says;
  const double from = grid.place(index.numbers[0]);
  for (double place = from; place < from + 200; ++place) {
    const double x = grid.at(place);
    EXPECT_EQ(grid.place(x), place) << says;
    EXPECT_LT(x, grid.at(place + 1)) << says;
    EXPECT_TRUE(holds(x)) << says << ": " << x;
    EXPECT_EQ(grid.place(x + std::floor((grid.at(place + 1) - x) / 2)), place)
        << "numbers between two places take the one before";
  }
}

TEST(IndexGrid, KeepsTheHourAndWhatIsBeside) {
  const auto every = [](double unit, double first) {
    return times(listed(40, [=](int i) { return 1.6e9 + first + unit * std::floor(i * 1.3); }));
  };
  const auto on = [](double unit, double first) {
    return [=](double x) { return std::fmod(x - 1.6e9 - first, unit) == 0; };
  };
  expect_grid(every(3600, 0), "every 60 min", on(3600, 0));
  expect_grid(every(3600, 93), "every 60 min", on(3600, 93));
  expect_grid(every(900, 0), "every 15 min", on(900, 0));
  expect_grid(every(10, 3), "every 10 s", on(10, 3));
  expect_grid(every(kSecondsPerDay, 0), "at one time of day", on(kSecondsPerDay, 0));
}

TEST(IndexGrid, KeepsWorkingDaysAndTradingHours) {
  expect_grid(dates("d", working_days(60)), "Mon, Tue, Wed, Thu, Fri only", is_working);
  expect_grid(dates("d", listed(30, [](int i) { return 18000 + 7.0 * (i + i / 3); })), "every 7 days",
              [](double x) { return std::fmod(x - 18000, 7) == 0; });
  std::vector<double> hours;
  for (const double day : working_days(40))
    for (int hour = 9; hour <= 17; ++hour) hours.push_back(day * kSecondsPerDay + 3600 * hour);
  expect_grid(times(hours), "Mon, Tue, Wed, Thu, Fri only, at 9 times of day", [](double x) {
    const double hour = std::fmod(x, kSecondsPerDay) / 3600;
    return is_working(std::floor(x / kSecondsPerDay)) && hour >= 9 && hour <= 17 && hour == std::floor(hour);
  });
}

TEST(IndexGrid, KeepsDaysOfMonths) {
  const auto months = [](int step, auto day) {
    return dates("d", listed(12, [=](int i) {
                   const int month = i * step;
                   const auto first = days_from_civil(2019 + month / 12, 1 + month % 12, 1);
                   const auto next = days_from_civil(2019 + (month + 1) / 12, 1 + (month + 1) % 12, 1);
                   return static_cast<double>(day(first, next - 1));
                 }));
  };
  const auto day_of = [](double x) { return civil_from_days(static_cast<int64_t>(x)); };
  expect_grid(months(1, [](int64_t first, int64_t) { return first; }), "day 1 of every month",
              [&](double x) { return day_of(x).day == 1; });
  expect_grid(months(3, [](int64_t first, int64_t) { return first + 14; }), "day 15 of every 3 months",
              [&](double x) { return day_of(x).day == 15 && day_of(x).month % 3 == 1; });
  expect_grid(months(1, [](int64_t, int64_t last) { return last; }), "the last day of every month",
              [&](double x) { return day_of(x + 1).day == 1; });
  std::vector<double> thirtieth;
  for (int month = 0; month < 24; ++month)
    if (month % 12 != 1)
      thirtieth.push_back(static_cast<double>(days_from_civil(2019 + month / 12, 1 + month % 12, 30)));
  EXPECT_FALSE(grid_of_index(dates("d", thirtieth)).any()) << "a February has none";
  const auto working = [](int64_t day, int by) {
    while (weekday_of(day) >= 5) day += by;
    return day;
  };
  expect_grid(months(1, [&](int64_t first, int64_t) { return working(first, 1); }),
              "the first working day of every month", [&](double x) { return is_working(x) && day_of(x).day <= 3; });
  expect_grid(months(1, [&](int64_t, int64_t last) { return working(last, -1); }),
              "the last working day of every month", [&](double x) { return is_working(x) && day_of(x + 3).day <= 3; });
}

TEST(IndexGrid, KeepsMultiplesOfNumbers) {
  expect_grid(numbers("x", ColumnType::integer, listed(40, [](int i) { return 3.0 + 15 * (i + i % 3); })), "every 15",
              [](double x) { return std::fmod(x - 3, 15) == 0; });
  EXPECT_FALSE(grid_of_index(numbers("x", ColumnType::integer, listed(40, [](int i) { return i; }))).any());
}

// A grid that is none is found in 1 of 10,000 tables (index_grid.cpp), and some dozen kinds are tried in each of 240.
TEST(IndexGrid, IsNotFoundByChance) {
  int found = 0;
  for (uint32_t seed = 0; seed < 30; ++seed)
    for (const int n : {5, 12, 40, 300}) {
      const auto u = [&](int i) { return uniform(i, 100 + seed); };
      found += grid_of_index(dates("d", listed(n, [&](int i) { return std::floor(18000 + 700 * u(i)); }))).any();
      found += grid_of_index(times(listed(n, [&](int i) { return std::floor(1.6e9 + 1e7 * u(i)); }))).any();
    }
  EXPECT_LE(found, 1);
  EXPECT_FALSE(grid_of_index(dates("d", working_days(10))).any()) << "two weeks without a Sunday are no rule";
  const Column early = times(listed(138, [](int i) { return (18000 + i / 3) * kSecondsPerDay + 3600 * (i * 7 % 23); }));
  EXPECT_EQ(grid_of_index(early).text(), "every 60 min") << "nor are three hours a day of 23";
}

// A Saturday that four rows, or the many rows of four keys, have is learned as the Friday before.
TEST(IndexGrid, LeavesOutWhatFewHoldersHave) {
  std::vector<double> days = working_days(200);
  std::vector<int32_t> holders;
  for (size_t i = 0; i < days.size(); ++i) holders.push_back(static_cast<int32_t>(i / 4));
  const double saturday = 18000 + 5 - weekday_of(18000);
  for (int i = 0; i < 4; ++i) days.push_back(saturday + 7 * i), holders.push_back(1000 + i);
  const IndexGrid grid = grid_of_index(dates("d", days));
  EXPECT_EQ(grid.text(), "Mon, Tue, Wed, Thu, Fri only");
  EXPECT_EQ(grid.at(grid.place(saturday)), saturday - 1);
  EXPECT_EQ(grid_of_index(dates("d", days), 5, holders).text(), grid.text());
  const std::string all = "Mon, Tue, Wed, Thu, Fri, Sat only";
  EXPECT_EQ(grid_of_index(dates("d", days), 1).text(), all);
  days.push_back(saturday + 70);
  EXPECT_EQ(grid_of_index(dates("d", days)).text(), all) << "five rows have one";
}

TEST(IndexGrid, RejectsDamagedFiles) {
  std::vector<double> hours;
  for (const double day : working_days(40))
    for (int hour = 9; hour <= 17; ++hour) hours.push_back(day * kSecondsPerDay + 3600 * hour);
  for (const IndexGrid& grid : {grid_of_index(dates("d", working_days(60))), grid_of_index(times(hours))}) {
    const nlohmann::json good = grid.to_json().flatten();
    for (const auto& item : good.items())
      for (const nlohmann::json& other : {nlohmann::json(-1), nlohmann::json(1e300), nlohmann::json("x"),
                                          nlohmann::json(3), nlohmann::json(86400), nlohmann::json()}) {
        nlohmann::json bad = good;
        bad[item.key()] = other;
        try {
          const IndexGrid read = IndexGrid::from_json(bad.unflatten());
          for (const double x : {0.0, -1e300, 1e300, 1.6e9, 18000.0, kMissing})
            for (const double steps : {0.0, 1.0, -1e300, 1e300}) (void)read.at(read.place(x) + steps);
        } catch (const Error& e) { EXPECT_EQ(e.code(), ErrorCode::format); }
      }
  }
  const auto json = grid_of_index(dates("d", working_days(60))).to_json();
  const auto damaged = [&](const char* field, const nlohmann::json& value) {
    auto bad = json;
    bad[field] = value;
    EXPECT_EQ(thrown([&] { (void)IndexGrid::from_json(bad); }).code, ErrorCode::format) << field;
  };
  damaged("unit", 0), damaged("unit", 2), damaged("weekdays", 128), damaged("step", 0), damaged("digits", 0);
  damaged("times", {1, 0}), damaged("times", {5}), damaged("phase", -1), damaged("of_month", 0);
}

}  // namespace
}  // namespace tessera
