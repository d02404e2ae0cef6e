#include "tables/kinds/arrow_type.h"

#include <charconv>
#include <cstring>

#include "tables/kinds/kind.h"

namespace tessera {
namespace {

constexpr int kMostDigits = 76;  // of a decimal256

int64_t units(char c) { return c == 's' ? 1 : c == 'm' ? 1'000 : c == 'u' ? 1'000'000 : c == 'n' ? 1'000'000'000 : 0; }

// "10,2" or "10,2,256"
std::optional<ArrowType> parse_exact(std::string_view numbers) {
  int part[3] = {0, 0, 128}, parts = 0;
  const char *p = numbers.data(), *end = p + numbers.size();
  for (; parts < 3; ++p) {
    const auto [next, error] = std::from_chars(p, end, part[parts]);
    if (error != std::errc()) return {};
    p = next;
    ++parts;
    if (p == end || *p != ',') break;
  }
  const int bits = part[2], most = bits == 32 ? 9 : bits == 64 ? 18 : bits == 128 ? 38 : bits == 256 ? kMostDigits : 0;
  if (p != end || parts < 2 || part[0] < 1 || part[0] > most || part[1] > kMostDigits || part[1] < -kMostDigits)
    return {};
  // Parquet writes its zeros, and has no room for more
  if (part[1] < 0 && part[0] - part[1] > kMostDigits) return {};
  return ArrowType{.kind = ArrowKind::exact, .layout = 'd', .width = bits / 8, .precision = part[0], .scale = part[1]};
}

ArrowType text(int offset, bool bytes) {
  return {.kind = ArrowKind::text, .layout = 'u', .offset = offset, .bytes = bytes};
}

}  // namespace

std::optional<ArrowType> ArrowType::parse(std::string_view f) {
  if (f.size() == 1) {
    const char c = f[0];
    if (const char* at = c == 0 ? nullptr : std::strchr("cCsSiIlL", c))
      return ArrowType{.kind = ArrowKind::whole, .layout = c, .width = 1 << ((at - "cCsSiIlL") / 2)};
    if (c == 'n') return ArrowType{};
    if (c == 'b') return ArrowType{.kind = ArrowKind::boolean, .layout = c};
    if (c == 'e' || c == 'f' || c == 'g')
      return ArrowType{.kind = ArrowKind::real, .layout = c, .width = c == 'e' ? 2 : c == 'f' ? 4 : 8};
    if (c == 'u' || c == 'z') return text(4, c == 'z');
    if (c == 'U' || c == 'Z') return text(8, c == 'Z');
    return {};
  }
  if (f == "vu" || f == "vz") return text(0, f == "vz");
  if (f.substr(0, 2) == "d:") return parse_exact(f.substr(2));
  if (f == "tdD") return ArrowType{.kind = ArrowKind::day, .layout = 'D', .width = 4};
  if (f == "tdm") return ArrowType{.kind = ArrowKind::day, .layout = 'm', .width = 8, .millis = true};
  if (f.size() < 3 || f[0] != 't' || units(f[2]) == 0) return {};
  if (f[1] == 's' && f.size() >= 4 && f[3] == ':')
    return ArrowType{
        .kind = ArrowKind::moment, .layout = 't', .width = 8, .per_second = units(f[2]), .zoned = f.size() > 4};
  if (f[1] == 't' && f.size() == 3)
    return ArrowType{
        .kind = ArrowKind::span, .layout = 't', .width = units(f[2]) <= 1000 ? 4 : 8, .per_second = units(f[2])};
  if (f[1] == 'D' && f.size() == 3)
    return ArrowType{.kind = ArrowKind::span, .layout = 'D', .width = 8, .per_second = units(f[2])};
  return {};
}

std::string default_arrow(const Column& column) { return kind_of(column).arrow(column); }

ColumnType type_of(ArrowKind kind) {
  switch (kind) {
    case ArrowKind::none: return ColumnType::constant;
    case ArrowKind::boolean: return ColumnType::boolean;
    case ArrowKind::whole: return ColumnType::integer;
    case ArrowKind::text: return ColumnType::category;
    case ArrowKind::day: return ColumnType::date;
    case ArrowKind::moment: return ColumnType::datetime;
    default: return ColumnType::decimal;
  }
}

bool is_natural(ColumnType type, ArrowKind kind) {
  if (kind == ArrowKind::text || kind == ArrowKind::none) return true;
  return type == type_of(kind) || (is_quantity(type) && is_quantity(type_of(kind)));
}

bool fits_arrow(ColumnType type, const ArrowType& arrow) {
  return arrow.kind == ArrowKind::text || kind_of(type).fits(arrow);
}

bool came_as_text(const Column& column) {
  if (kind_of(column).free_text) return false;
  const std::optional<ArrowType> arrow = ArrowType::parse(column.arrow);
  return arrow && arrow->kind == ArrowKind::text;
}

void remember_arrow(std::string_view format, Column& column) {
  column.arrow.clear();
  const std::optional<ArrowType> arrow = ArrowType::parse(format);
  if (!arrow || !fits_arrow(column.type, *arrow)) return;
  if (arrow->kind == ArrowKind::none && column.type != ColumnType::constant) return;
  // new numbers stay in the range of the type, where it has room for them
  if (column.type == ColumnType::identifier && arrow->kind == ArrowKind::whole && arrow->width < 4)
    format = arrow->layout == 'L' ? "L" : "l";
  if (format != default_arrow(column)) column.arrow = format;
}

}  // namespace tessera
