// Text to a Module: headers first, since calls and addresses name what stands further down; then each body.
#include "ptx/read/reader.h"

namespace tessera::ptx {

const std::vector<std::string> kSpecial = {"%tid.x",    "%tid.y",    "%tid.z",   "%ntid.x",         "%ntid.y",
                                           "%ntid.z",   "%ctaid.x",  "%ctaid.y", "%ctaid.z",        "%nctaid.x",
                                           "%nctaid.y", "%nctaid.z", "%laneid",  "%cluster_ctarank"};

uint32_t rounded(uint32_t x, uint32_t to) { return (x + to - 1) / to * to; }
uint32_t size_of(const Declaration& d) { return d.elements * static_cast<uint32_t>(bytes_of(d.type)); }

Reader::Reader(const std::string& text) : all(statements(text)) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    module.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  now.predicates = kAlways + 1;
  now.registers = static_cast<uint32_t>(kSpecial.size()) * 4 * kLanes;
}

// Device functions have registers of their own, at the same place for each kernel that calls them. Those of kernels
// begin behind: one runs at a time.
Module Reader::read() {
  find_headers();
  Extent most = now;
  Extent base;
  for (const bool entries : {false, true}) {
    base = now;
    for (const std::string& name : in_order_) {
      const Header& h = headers.at(name);
      if (h.entry != entries || h.body == 0) continue;
      if (entries) now = base;
      Body(*this, h).read();
      most.registers = std::max(most.registers, now.registers);
      most.predicates = std::max(most.predicates, now.predicates);
      most.local = std::max(most.local, now.local);
    }
  }
  module.register_bytes = most.registers;
  module.predicates = most.predicates;
  module.local_bytes = rounded(most.local, 16);
  close_calls();
  return std::move(module);
}

// The shared arrays of a kernel are those that it or what it calls names. No function may call itself: its registers
// are in one place.
void Reader::close_calls() {
  for (Instruction& i : module.code)
    if (i.flow == Flow::call) i.target = module.functions.at(in_order_[i.target]).begin;
  for (auto& [name, function] : module.functions) {
    std::set<std::string> seen{name};
    std::vector<std::string> open{name};
    std::set<int> used;
    while (!open.empty()) {
      const auto& [calls, arrays_of] = uses_[open.back()];
      open.pop_back();
      used.insert(arrays_of.begin(), arrays_of.end());
      for (const std::string& c : calls) {
        if (c == name) throw std::runtime_error("PTX: " + name + " calls itself, which is not executed here");
        if (seen.insert(c).second) open.push_back(c);
      }
    }
    for (const int a : used) function.shared.push_back(arrays[static_cast<size_t>(a)]);
  }
}

uint32_t Reader::constant(uint64_t bits, uint32_t bytes) {
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  const auto [at, added] =
      constants_.try_emplace({bits, bytes}, static_cast<uint32_t>(module.constants.size() * 8) | kConstant);
  if (added) {
    const size_t first = module.constants.size();
    module.constants.resize(first + bytes * kLanes / 8);
    for (size_t l = 0; l < kLanes; ++l)
      std::memcpy(reinterpret_cast<char*>(&module.constants[first]) + l * bytes, &bits, bytes);
  }
  return at->second;
}

// .shared, .global and .const arrays. Dynamic shared memory has no size here.
void Reader::declare_array(const std::string& text, int line) {
  const size_t equals = text.find('=');
  const Declaration d = declaration(text.substr(0, equals), line);
  if (text.find(".shared") != std::string::npos) {
    const bool dynamic = d.array && d.elements == 0;
    const uint32_t at = dynamic ? kDynamicShared : rounded(shared_end_, std::max(d.alignment, 128u));
    if (!dynamic) shared_end_ = at + size_of(d) + 128;  // a gap that is nobody's
    symbols[d.name] = {Space::shared, at, static_cast<int>(arrays.size())};
    arrays.push_back({at, size_of(d), d.alignment});
    return;
  }
  const uint32_t each = static_cast<uint32_t>(bytes_of(d.type));
  std::vector<char> bytes(size_of(d), 0);
  if (equals != std::string::npos) {
    size_t at = 0;
    std::string values = trimmed(text.substr(equals + 1));
    if (values[0] == '{') values = values.substr(1, values.size() - 2);
    for (const std::string& v : split(values)) {
      uint64_t bits = 0;
      if (!immediate(v, bits) || at + each > bytes.size()) throw Unreadable(line, v, "a value of " + d.name);
      std::memcpy(bytes.data() + at, &bits, each);
      at += each;
    }
  }
  module.globals.push_back(std::move(bytes));
  symbols[d.name] = {Space::global, reinterpret_cast<uint64_t>(module.globals.back().data()), -1};
}

// ".visible .entry name( .param …) .maxntid 256, 1, 1" or ".func (.param .b64 r) name (…)": what lies in parentheses,
// in order, is result (if it stands before the name), and parameters.
size_t Reader::read_header(size_t at) {
  const Statement& s = all[at];
  Header h;
  h.entry = s.text.find(".entry") != std::string::npos;
  std::string rest = trimmed(s.text.substr(s.text.find(h.entry ? ".entry" : ".func") + (h.entry ? 6 : 5)));
  const auto list = [&](std::vector<Declaration>& to) {
    const size_t close = rest.find(')');
    for (const std::string& p : split(std::string_view(rest).substr(1, close - 1)))
      to.push_back(declaration(p, s.line));
    rest = trimmed(rest.substr(close + 1));
  };
  if (rest[0] == '(') list(h.results);
  const size_t name_end = rest.find_first_of(" (");
  h.name = rest.substr(0, name_end);
  rest = name_end == std::string::npos ? "" : trimmed(rest.substr(name_end));
  if (!rest.empty() && rest[0] == '(') list(h.parameters);

  Function f;
  f.name = h.name;
  f.entry = h.entry;
  uint32_t offset = h.entry ? 0 : module.call_bytes;
  const auto place = [&](const std::vector<Declaration>& from, std::vector<uint32_t>& to) {
    for (const Declaration& d : from) {
      to.push_back(rounded(offset, std::max(d.alignment, h.entry ? 1u : 16u)));
      offset = to.back() + size_of(d);
    }
  };
  place(h.results, h.result_at);
  place(h.parameters, h.parameter_at);
  (h.entry ? f.parameters_total : module.call_bytes) = h.entry ? offset : rounded(offset, 16);
  for (size_t k = 0; k < h.parameters.size(); ++k)
    f.parameters.push_back({h.parameter_at[k], size_of(h.parameters[k])});
  if (const size_t most = rest.find(".maxntid"); most != std::string::npos) {
    f.max_threads = 1;
    for (const std::string& n : split(std::string_view(rest).substr(most + 8, rest.find('.', most + 1) - most - 8)))
      f.max_threads *= static_cast<unsigned>(std::atoi(n.c_str()));
  }
  const bool body = at + 1 < all.size() && all[at + 1].text == "{";
  const auto known = headers.find(h.name);
  if (known != headers.end() && !body) return at + 1;
  if (known != headers.end()) h.parameter_at = known->second.parameter_at, h.result_at = known->second.result_at;
  if (known == headers.end()) in_order_.push_back(h.name);
  size_t end = at + 1;
  if (body) {
    h.body = at + 2;
    int depth = 1;
    for (end = h.body; depth > 0; ++end) depth += all[end].text == "{" ? 1 : all[end].text == "}" ? -1 : 0;
    h.end = end - 1;
  }
  module.functions[h.name] = f;
  headers[h.name] = std::move(h);
  return end;
}

void Reader::find_headers() {
  for (size_t at = 0; at < all.size();) {
    const std::string& t = all[at].text;
    if (starts(t, ".version") || starts(t, ".address_size") || starts(t, ".file")) {
      ++at;
    } else if (starts(t, ".target")) {
      module.target = std::atoi(t.c_str() + t.find("sm_") + 3);
      ++at;
    } else if (t.find(".entry") != std::string::npos || t.find(".func") != std::string::npos) {
      at = read_header(at);
    } else if (starts(t, ".")) {
      declare_array(t, all[at].line);
      ++at;
    } else {
      throw Unreadable(all[at].line, t, "not a declaration");
    }
  }
}

Module read_module(const std::string& text) { return Reader(text).read(); }

}  // namespace tessera::ptx
