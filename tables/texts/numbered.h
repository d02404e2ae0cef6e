// Texts that end with a number, as codes of diagnoses (250.02, V45) and of plans do: neighbors by number.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct Numbered {
  std::string before;
  size_t decimals = 0;
  double number = 0;
  size_t digits = 0;  // before the point
  bool padded = false;
};
// Empty if the text does not end with a number of at most nine digits.
std::optional<Numbered> numbered(const std::string& text);

// Numbers after the same letters with as many decimals.
class NumberedForm {
 public:
  explicit NumberedForm(Numbered first) : like_(std::move(first)) {}
  void add(const Numbered& text, int64_t rows);
  void sort();
  int decimals() const { return static_cast<int>(like_.decimals); }
  const std::vector<double>& numbers() const { return numbers_; }  // of each row
  std::string text(double number) const;

 private:
  Numbered like_;
  size_t digits_ = 0;
  std::vector<double> numbers_;
};
using NumberedForms = std::map<std::pair<std::string, size_t>, NumberedForm>;

// Adds rows of a text to its form. False if it does not end with a number.
bool add(NumberedForms& forms, const std::string& text, int64_t rows);

}  // namespace tessera
