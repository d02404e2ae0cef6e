#include "tables/texts/numbered.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tessera {
namespace {

constexpr size_t kMaxNumberDigits = 9;

}  // namespace

std::optional<Numbered> numbered(const std::string& text) {
  const size_t first = text.find_first_of("0123456789");
  if (first == std::string::npos) return {};
  const size_t point = std::min(text.find('.', first), text.size());
  Numbered out{text.substr(0, first), point < text.size() ? text.size() - point - 1 : 0, 0, point - first};
  out.padded = out.digits > 1 && text[first] == '0';
  if (out.digits + out.decimals > kMaxNumberDigits || (point < text.size() && out.decimals == 0)) return {};
  const auto [end, error] =
      std::from_chars(text.data() + first, text.data() + text.size(), out.number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return out;
}

void NumberedForm::add(const Numbered& text, int64_t rows) {
  numbers_.insert(numbers_.end(), static_cast<size_t>(rows), text.number);
  if (text.padded) digits_ = std::max(digits_, text.digits);
}

void NumberedForm::sort() { std::sort(numbers_.begin(), numbers_.end()); }

std::string NumberedForm::text(double number) const {
  const size_t width = digits_ + (like_.decimals > 0 ? like_.decimals + 1 : 0);
  return fmt::format("{}{:0{}.{}f}", like_.before, number, width, like_.decimals);
}

bool add(NumberedForms& forms, const std::string& text, int64_t rows) {
  const std::optional<Numbered> found = numbered(text);
  if (!found) return false;
  forms.try_emplace({found->before, found->decimals}, *found).first->second.add(*found, rows);
  return true;
}

}  // namespace tessera
