#include "models/method/option.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/json_fields.h"
#include "base/text/option_text.h"

namespace tessera {
namespace {

constexpr const char* kCells[] = {"gru", "gru-reset-before", "lstm"};

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // clang 14 deduces no aggregates

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::usage, what); }

bool inside(const Range& r, double x) { return (r.open ? x > r.low : x >= r.low) && x <= r.high; }

// "it must be a whole number from 1 to 65536".
std::string bounds(const Range& r, bool whole) {
  if (whole) return fmt::format("it must be a whole number from {:.0f} to {:.0f}", r.low, r.high);
  std::string out = "it must be a number";
  if (r.low > -kUnbounded) out += fmt::format("{} {}", r.open ? " above" : " from", r.low);
  if (r.high < kUnbounded) out += fmt::format("{} {}", r.open ? " and at most" : " to", r.high);
  return out;
}

template <class T>
bool parse(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && !text.empty();
}

int count_of(const Option& o, const std::string& text) {
  int64_t value = 0;
  if (!parse(text, value) || !inside(o.range, static_cast<double>(value)))
    refuse(fmt::format("{}: {}.", option_text(o.key, text), bounds(o.range, true)));
  return static_cast<int>(value);
}

std::string joined(const std::vector<int>& widths) { return fmt::format("{}", fmt::join(widths, ",")); }

void check_widths(const Option& o, const std::vector<int>& widths) {
  if (widths.empty())
    refuse(fmt::format("{}: it needs the width of at least one layer, as in {}.", o.name(),
                       option_text(o.key, "256,256")));
  if (widths.size() > kMaxLayers)
    refuse(fmt::format("{} has {} layers; at most {} are possible.", o.name(), widths.size(), kMaxLayers));
  for (size_t i = 0; i < widths.size(); ++i)
    if (!inside(o.range, widths[i]))
      refuse(fmt::format("{}: layer {} has {} units; it must have {:.0f} to {:.0f}.",
                         option_text(o.key, joined(widths)), i + 1, widths[i], o.range.low, o.range.high));
}

// "256,256" or "256x256".
std::vector<int> widths_of(const Option& o, const std::string& text) {
  std::vector<int> widths;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find_first_of(",x", at), text.size());
    int width = 0;
    if (!parse(std::string_view(text).substr(at, end - at), width))
      refuse(fmt::format("{}: it must be the widths of its layers with commas between them, as in {}.",
                         option_text(o.key, text), option_text(o.key, "256,256")));
    widths.push_back(width);
    at = end + 1;
  }
  return widths;
}

Cell cell_of(const Option& o, const std::string& text) {
  for (int i = 0; i < 3; ++i)
    if (text == kCells[i]) return static_cast<Cell>(i);
  refuse(fmt::format("{}: there are {}.", option_text(o.key, text), fmt::join(kCells, ", ")));
}

bool flag_of(const Option& o, const std::string& text) {
  if (text != "on" && text != "off") refuse(option_text(o.key, text) + ": there are on and off.");
  return text == "on";
}

}  // namespace

const char* cell_name(Cell cell) { return kCells[static_cast<int>(cell)]; }
std::vector<std::string_view> choices() { return {std::begin(kCells), std::end(kCells)}; }

std::string Option::name() const { return fmt::format("`{}`", key); }

std::string_view Option::kind() const {
  constexpr std::string_view kKinds[] = {"count", "number", "flag", "choice", "widths", "count"};  // as Target has them
  return kKinds[target.index()];
}

std::string Option::text() const {
  return std::visit(
      Overloaded{[](const int* v) { return std::to_string(*v); }, [](const double* v) { return fmt::format("{}", *v); },
                 [](const bool* v) { return std::string(*v ? "on" : "off"); },
                 [](const Cell* v) { return std::string(cell_name(*v)); },
                 [](const std::vector<int>* v) { return joined(*v); },
                 [](const std::vector<int*>& all) { return std::to_string(*all.front()); }},
      target);
}

void Option::set(const std::string& text) const {
  std::visit(Overloaded{[&](int* v) { *v = count_of(*this, text); },
                        [&](double* v) {
                          if (!parse(text, *v))
                            refuse(fmt::format("{}: {}.", option_text(key, text), bounds(range, false)));
                        },
                        [&](bool* v) { *v = flag_of(*this, text); }, [&](Cell* v) { *v = cell_of(*this, text); },
                        [&](std::vector<int>* v) { *v = widths_of(*this, text); },
                        [&](const std::vector<int*>& all) {
                          for (int* v : all) *v = count_of(*this, text);
                        }},
             target);
  check();
}

void Option::check() const {
  if (const auto* count = std::get_if<int*>(&target)) {
    if (!inside(range, **count)) refuse(fmt::format("{}: {}.", option_text(key, text()), bounds(range, true)));
  } else if (const auto* number = std::get_if<double*>(&target)) {
    if (!inside(range, **number)) refuse(fmt::format("{}: {}.", option_text(key, text()), bounds(range, false)));
  } else if (const auto* widths = std::get_if<std::vector<int>*>(&target)) {
    check_widths(*this, **widths);
  }
}

nlohmann::json Option::json() const {
  return std::visit(Overloaded{[](const Cell* v) { return nlohmann::json(cell_name(*v)); },
                               [](const std::vector<int*>&) { return nlohmann::json(); },
                               [](const auto* v) { return nlohmann::json(*v); }},
                    target);
}

void Option::read(const Fields& f) const {
  if (is_group() || (added_later && !f.has(key))) return;
  try {
    std::visit(Overloaded{[&](int* v) {
                            *v = static_cast<int>(
                                f.integer(key, static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)));
                          },
                          [&](double* v) { *v = f.number(key); }, [&](bool* v) { *v = f.flag(key); },
                          [&](Cell* v) { *v = cell_of(*this, f.text(key)); },
                          [&](std::vector<int>* v) {
                            v->clear();
                            for (const auto& w : f.array(key)) {
                              f.check(w.is_number_integer() && w >= 1 && w <= kMaxWidth,
                                      fmt::format("\"{}\" has a layer that is not 1 … {} wide", key, kMaxWidth));
                              v->push_back(w.get<int>());
                            }
                          },
                          [](const std::vector<int*>&) {}},
               target);
    check();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::format) throw;
    std::string reason = e.what();
    if (!reason.empty() && reason.back() == '.') reason.pop_back();
    f.fail(fmt::format("has a \"{}\" that no model has ({})", key, reason));
  }
}

}  // namespace tessera
