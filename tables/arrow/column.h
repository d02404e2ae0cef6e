// Gathers one column of an Arrow stream over all its batches.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tables/arrow/values.h"
#include "tables/types/types_dictionary.h"

namespace tessera {

struct GivenType;   // tables/arrow/import.h
struct ColumnPlan;  // tables/types/types.h

class ColumnImport {
 public:
  // `limit`: of its numbers and codes. `wanted`: the type the user gave, or null. Our own columns carry it in their
  // metadata with all other properties; a foreign one may carry "tessera.type" alone.
  ColumnImport(const ArrowSchema& schema, std::string name, const GivenType* wanted,
               std::shared_ptr<MemoryLimit> limit = nullptr);

  // Rows [start, start + length) of `array`, which it does not release. row_validity: of the batch itself, or null.
  void add(const ArrowArray& array, int64_t start, int64_t length, const uint8_t* row_validity);

  // The column of all rows added. `whole`: no rows follow, so properties of the whole column may be derived.
  Column finish(bool whole);

  int64_t bytes() const;  // bytes held, except those that the limit already counts
  void relax() const { numbers_.relax(), codes_.relax(); }

 private:
  bool is_missing(const ArrowValues& values, int64_t i) const;
  [[noreturn]] void fail_value(int64_t row, const std::string& what, const std::string& way_out) const;
  void check_text(std::string_view text) const;
  int32_t code_of_text(std::string_view text);
  void add_text(const ArrowValues& values);
  void add_boolean(const ArrowValues& values);
  void add_whole(const ArrowValues& values);
  void add_exact(const ArrowValues& values);
  void add_numbers(const ArrowValues& values);
  void add_spelled(const ArrowValues& values);
  void turn_to_text();
  double number(const ArrowValues& values, int64_t i) const;
  void check_calendar(double v) const;
  void spell(double value, std::string& out) const;
  Column finish_part();
  Column finish_text();
  Column finish_foreign();
  bool are_day_keys(ColumnType type) const;
  void read_day_keys(Bulk<double>& numbers) const;
  void plan_real(ColumnPlan& plan) const;
  void plan_moment(int& decimals, std::string& format) const;

  const ArrowSchema* schema_;
  Column column_;
  ArrowType type_;
  std::optional<ColumnType> wanted_;
  std::optional<std::string> format_;  // of texts of that type
  std::string kind_;                   // of identifiers: what the texts are
  std::string reason_ = "the type was given";
  bool ours_ = false, as_text_ = false;
  std::shared_ptr<MemoryLimit> limit_;
  Bulk<double> numbers_;
  Bulk<int32_t> codes_;
  Dictionary dictionary_;
  size_t text_bytes_ = 0;
  std::vector<int64_t> first_rows_;  // first occurrence of each text of a foreign stream
  std::string scratch_;
  const uint8_t* row_validity_ = nullptr;
  int64_t row_start_ = 0;
};

}  // namespace tessera
