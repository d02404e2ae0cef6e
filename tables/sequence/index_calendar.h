// The hour, weekday and month of a step's index, which a step depends on beside the steps before it: sales of a Sunday,
// the temperature at noon. The index of a step is known only once it is drawn; from the one before follows the index
// that is expected.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "tables/sequence/index_grid.h"
#include "tables/table/table.h"

namespace tessera {

class IndexCalendar {
 public:
  IndexCalendar() = default;
  // Of an index of dates or times, and none of other columns. `values`: rows of a holder (a key) one after another, by
  // time; without keys each row is its own, and `keyed` is false. An hour, weekday or month that fewer than `least`
  // holders have is taken for the one before it that has enough. None if all keys begin together and go on by one
  // distance: then the number of the step says as much.
  IndexCalendar(const Column& index, const IndexGrid& grid, std::span<const double> values,
                std::span<const int32_t> holders, bool keyed, int64_t least);

  int cycles() const { return static_cast<int>(cycles_.size()); }
  bool any() const { return !cycles_.empty(); }
  int width(int cycle) const { return static_cast<int>(cycles_[static_cast<size_t>(cycle)].level.size()); }
  // The levels of an index, to [cycles()].
  void levels(double index, int8_t* to) const;
  // The index that follows in most rows; the same one if there is no such distance.
  double expected(double before, const IndexGrid& grid) const;
  // The index nearest to x of [low, high] that has these levels; x if there is none within a month.
  double nearest(double x, std::span<const int32_t> wanted, double low, double high, const IndexGrid& grid) const;

  nlohmann::json to_json() const;
  static IndexCalendar from_json(const nlohmann::json& json);  // throws Error(format)

 private:
  struct Cycle {
    enum Of : uint8_t { hour, weekday, month } of;
    std::vector<int> level;  // of each hour, weekday or month: one that enough holders have
  };
  size_t place(const Cycle& cycle, double index) const;  // the hour, weekday or month itself

  std::vector<Cycle> cycles_;
  double day_ = 0;  // units of the index in a day
  double gap_ = 0;  // to the next index, in places of the grid or units of the index; 0: any
};

}  // namespace tessera
