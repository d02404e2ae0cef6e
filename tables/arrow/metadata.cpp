#include "tables/arrow/metadata.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/printable.h"
#include "base/text/utf8.h"
#include "tables/kinds/kind.h"

namespace tessera {
namespace {

// Keys of a stream's metadata.
constexpr const char *kDialectKey = "tessera.csv", *kRulesKey = "tessera.rules";

constexpr std::pair<ErrorCode, int> kErrors[] = {
    {ErrorCode::usage, EINVAL},   {ErrorCode::data, EILSEQ},         {ErrorCode::io, EIO},
    {ErrorCode::memory, ENOMEM},  {ErrorCode::numeric, ERANGE},      {ErrorCode::condition, EDOM},
    {ErrorCode::format, EBADMSG}, {ErrorCode::unsupported, ENOTSUP}, {ErrorCode::cancelled, ECANCELED},
    {ErrorCode::internal, EFAULT}};

void append_int(int32_t n, std::string& out) { out.append(reinterpret_cast<const char*>(&n), sizeof n); }

int32_t take_int(const char*& p) {
  int32_t n;
  std::memcpy(&n, p, sizeof n);
  p += sizeof n;
  if (n < 0)
    throw Error(
        ErrorCode::data,
        "The Arrow stream's column metadata has a negative length.\n  The program that made the stream is at fault.");
  return n;
}

// The text that a column was read as, where streams with dictionaries of texts have something else.
std::string other_text(const Column& column) {
  const std::optional<ArrowType> arrow = ArrowType::parse(column.arrow);
  const bool text = arrow && arrow->kind == ArrowKind::text;
  return text && (came_as_text(column) || (column.arrow != "u" && column.arrow != "z")) ? column.arrow : "";
}

std::string take_text(const char*& p) {
  const auto n = static_cast<size_t>(take_int(p));
  std::string text(p, n);
  p += n;
  return text;
}

}  // namespace

std::string encode_metadata(const std::map<std::string, std::string>& pairs) {
  std::string out;
  append_int(static_cast<int32_t>(pairs.size()), out);
  for (const auto& [key, value] : pairs)
    for (const std::string* text : {&key, &value}) {
      append_int(static_cast<int32_t>(text->size()), out);
      out += *text;
    }
  return out;
}

std::map<std::string, std::string> decode_metadata(const char* metadata) {
  std::map<std::string, std::string> pairs;
  if (metadata == nullptr) return pairs;
  for (int32_t n = take_int(metadata); n > 0; --n) {
    std::string key = take_text(metadata), value = take_text(metadata);
    // ours become parts of JSON documents; those of others may be any bytes
    if (key.starts_with("tessera.") &&
        find_bad_utf8(value.data(), value.data() + value.size()) != value.data() + value.size())
      throw Error(ErrorCode::data, "The Arrow stream's metadata \"" + printable_message(key) +
                                       "\" are not UTF-8.\n  The program that made the stream is at fault.");
    pairs[std::move(key)] = std::move(value);
  }
  return pairs;
}

std::map<std::string, std::string> describe_column(const Column& column) {
  std::map<std::string, std::string> pairs{{"tessera.type", name(column.type)}, {"tessera.reason", column.reason}};
  if (column.decimals != 0) pairs["tessera.decimals"] = std::to_string(column.decimals);
  if (!column.format.empty()) pairs["tessera.format"] = column.format;
  if (const std::string arrow = other_text(column); !arrow.empty()) pairs[kArrowKey] = arrow;
  if (!column.kind.empty()) pairs["tessera.kind"] = column.kind;
  if (!column.domain.empty()) pairs["tessera.domain"] = column.domain;
  if (column.least_rows != 0) pairs["tessera.least_rows"] = std::to_string(column.least_rows);
  // Arrow's bool has no spelling, so the spelling is stored here; invalid UTF-8 cannot get here, `replace` only keeps
  // dump() from throwing.
  if (kind_of(column).truths)
    pairs["tessera.values"] =
        nlohmann::json(column.values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return pairs;
}

bool restore_column(const std::map<std::string, std::string>& pairs, Column& column) {
  const auto get = [&](const char* key) {
    const auto at = pairs.find(key);
    return at == pairs.end() ? std::string() : at->second;
  };
  if (!parse_column_type(get("tessera.type"), column.type)) return false;
  column.reason = get("tessera.reason");
  column.format = get("tessera.format");
  column.arrow = get(kArrowKey);
  column.kind = get("tessera.kind");
  column.domain = get("tessera.domain");
  column.least_rows = std::max(0, std::atoi(get("tessera.least_rows").c_str()));
  const std::string decimals = get("tessera.decimals");
  column.decimals = decimals.size() == 1 || decimals.size() == 2 ? std::atoi(decimals.c_str()) : 0;
  if (column.decimals < 0 || column.decimals > 15) return false;
  if (kind_of(column).truths) {
    const nlohmann::json values = nlohmann::json::parse(get("tessera.values"), nullptr, false);
    if (!values.is_array() || values.size() > 2) return false;
    for (const auto& v : values) {
      if (!v.is_string()) return false;
      column.values.push_back(v.get<std::string>());
    }
  }
  return column.arrow == other_text(column);
}

std::map<std::string, std::string> describe_table(const Table& table) {
  std::map<std::string, std::string> pairs;
  if (!table.dialect.empty()) pairs[kDialectKey] = table.dialect;
  if (!table.rules.empty())
    pairs[kRulesKey] = nlohmann::json(table.rules).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return pairs;
}

void restore_table(const std::map<std::string, std::string>& pairs, Table& table) {
  if (const auto at = pairs.find(kDialectKey); at != pairs.end()) table.dialect = at->second;
  const auto at = pairs.find(kRulesKey);
  if (at == pairs.end()) return;
  const nlohmann::json rules = nlohmann::json::parse(at->second, nullptr, false);
  const bool texts = rules.is_array() && std::all_of(rules.begin(), rules.end(), [](auto& r) { return r.is_string(); });
  if (!texts)
    throw Error(ErrorCode::data, std::string("The Arrow stream's metadata \"") + kRulesKey +
                                     "\" are not a JSON list of texts.\n  The program that made the stream is at "
                                     "fault.");
  table.rules = rules.get<std::vector<std::string>>();
}

int errno_of(ErrorCode code) {
  for (const auto& [c, number] : kErrors)
    if (c == code) return number;
  return EFAULT;
}

ErrorCode code_of(int error_number) {
  for (const auto& [code, number] : kErrors)
    if (number == error_number) return code;
  return ErrorCode::data;
}

}  // namespace tessera
