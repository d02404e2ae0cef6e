#include "models/audit/secrets.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace tessera::audit {
namespace {

std::string shortest(double x) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
}

// Digits from the first to the last that is not 0.
int significant(double x) {
  char digits[32];
  const std::string text(digits,
                         std::to_chars(digits, digits + sizeof digits, std::abs(x), std::chars_format::scientific).ptr);
  return static_cast<int>(std::count_if(text.begin(), text.begin() + static_cast<ptrdiff_t>(text.find('e')),
                                        [](char c) { return c != '.'; }));
}

template <class T>
std::string bytes_of(T x) {
  std::string out(sizeof x, '\0');
  std::memcpy(out.data(), &x, sizeof x);
  return out;
}

uint32_t beginning(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

struct Form {
  std::string name, bytes;
};

std::vector<Form> forms_of(const Secret& s) {
  std::vector<Form> out;
  if (!s.text.empty()) {
    out.push_back({"text", s.text});
    for (const bool ascii : {false, true}) {
      const std::string quoted = nlohmann::json(s.text).dump(-1, ' ', ascii),
                        twice = nlohmann::json(quoted).dump(-1, ' ', ascii);
      out.push_back({"JSON", quoted.substr(1, quoted.size() - 2)});
      out.push_back({"JSON in JSON", twice.substr(3, twice.size() - 6)});
    }
  }
  if (std::isnan(s.number)) return out;
  out.push_back({"digits", shortest(s.number)});
  out.push_back({"float64", bytes_of(s.number)});
  for (double scale = 1; scale <= 1e9; scale *= 10)
    if (const double scaled = s.number * scale;
        std::abs(scaled - std::round(scaled)) < 1e-6 && std::abs(scaled) > 1e9) {
      out.push_back({"int64", bytes_of(static_cast<int64_t>(std::llround(scaled)))});
      break;
    }
  return out;
}

// Value → its holders: rows, or values of the key.
template <class T, class Get>
std::map<T, std::set<int64_t>> holders(const Column& c, const Column* key, Get value) {
  std::map<T, std::set<int64_t>> out;
  for (int64_t i = 0; i < c.size(); ++i)
    if (!c.is_missing(i))
      out[value(static_cast<size_t>(i))].insert(key == nullptr ? i : key->codes[static_cast<size_t>(i)]);
  return out;
}

}  // namespace

std::vector<Secret> secrets_of(const Table& table, int digits, const std::string& key_name) {
  std::vector<Secret> out;
  const Column* key = table.find(key_name);
  for (const Column& c : table.columns) {
    if (c.codes.empty()) {
      for (const auto& [x, of] : holders<double>(c, key, [&](size_t i) { return c.numbers[i]; }))
        if (of.size() < kFew && significant(x) >= digits) out.push_back({c.name, "", x});
    } else {
      for (const auto& [text, of] :
           holders<std::string>(c, key, [&](size_t i) { return c.values[static_cast<size_t>(c.codes[i])]; }))
        if (of.size() < kFew) out.push_back({c.name, text, kMissing});
    }
  }
  return out;
}

std::vector<Found> found_in(const ModelFile& file, const std::vector<Secret>& secrets, size_t min_bytes) {
  std::unordered_set<double> numbers;
  for (const Numbers& n : file.numbers()) numbers.insert(n.values.begin(), n.values.end());
  std::vector<Found> out;
  std::unordered_multimap<uint32_t, std::pair<size_t, Form>> by_beginning;  // of a form's bytes; with the secret
  for (size_t k = 0; k < secrets.size(); ++k) {
    for (const Form& f : forms_of(secrets[k]))
      if (f.bytes.size() >= std::max(min_bytes, sizeof(uint32_t)))
        by_beginning.emplace(beginning(f.bytes.data()), std::pair{k, f});
    // float32 where tensors have their elements: four bytes at any place agree by chance.
    for (const double x : {secrets[k].number, static_cast<double>(static_cast<float>(secrets[k].number))})
      if (numbers.count(x) != 0) out.push_back({k, "number of the file"});
  }
  const std::string& bytes = file.bytes();
  for (size_t at = 0; at + sizeof(uint32_t) <= bytes.size(); ++at) {
    const auto [first, last] = by_beginning.equal_range(beginning(bytes.data() + at));
    for (auto entry = first; entry != last; ++entry)
      if (const auto& [secret, form] = entry->second; bytes.compare(at, form.bytes.size(), form.bytes) == 0)
        out.push_back({secret, form.name + ", at byte " + std::to_string(at)});
  }
  return out;
}

namespace {

struct Values {
  std::map<std::string, std::unordered_set<std::string>> texts;  // by column
  std::map<std::string, std::unordered_set<double>> numbers;

  explicit Values(const Table& t) {
    for (const Column& c : t.columns) {
      if (c.codes.empty()) numbers[c.name].insert(c.numbers.begin(), c.numbers.end());
      else
        for (const int32_t code : c.codes)
          if (code >= 0) texts[c.name].insert(c.values[static_cast<size_t>(code)]);
    }
  }
  bool hold(const Secret& s) {
    return s.text.empty() ? numbers[s.column].count(s.number) != 0 : texts[s.column].count(s.text) != 0;
  }
};

}  // namespace

std::vector<Secret> without(std::vector<Secret> secrets, const Table& table) {
  Values values(table);
  std::erase_if(secrets, [&](const Secret& s) { return values.hold(s); });
  return secrets;
}

std::vector<char> are_among(const Table& rows, const std::vector<Secret>& secrets) {
  Values values(rows);
  std::vector<char> out;
  for (const Secret& s : secrets) out.push_back(values.hold(s));
  return out;
}

}  // namespace tessera::audit
