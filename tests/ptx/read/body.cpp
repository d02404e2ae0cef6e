// A function's statements to instructions: opcodes to handlers, names to places.
#include "ptx/read/reader.h"

namespace tessera::ptx {
namespace {

std::vector<std::string> parts(const std::string& opcode) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= opcode.size();) {
    const size_t end = std::min(opcode.find('.', at), opcode.size());
    all.push_back(opcode.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

// The bytes of a source, which an immediate does not tell: those of the type, but for a few opcodes.
uint32_t source_bytes(const std::vector<std::string>& p, int source) {
  const uint32_t own = static_cast<uint32_t>(std::max(bytes_of(p.back()), 0));
  if ((p[0] == "shl" || p[0] == "shr") && source == 2) return 4;
  if (p[0] == "mad" && p[1] == "wide" && source == 3) return 2 * own;
  if (p[0] == "shfl" || p[0] == "vote" || p[0] == "bar" || p[0] == "cp") return 4;
  return own;
}

}  // namespace

void Body::read() {
  for (size_t k = 0; k < header_.parameters.size(); ++k)
    own_[header_.parameters[k].name] = {header_.entry ? Space::parameter : Space::call, header_.parameter_at[k], -1};
  for (size_t k = 0; k < header_.results.size(); ++k)
    own_[header_.results[k].name] = {Space::call, header_.result_at[k], -1};
  r_.module.functions.at(header_.name).begin = static_cast<uint32_t>(r_.module.code.size());
  for (size_t k = 0; k < kSpecial.size(); ++k) groups_[kSpecial[k]] = {static_cast<uint32_t>(k) * 4 * kLanes, 4, 1};
  for (size_t at = header_.body; at < header_.end; ++at)  // a symbol may stand below its use
    if (starts(r_.all[at].text, ".shared")) r_.declare_array(r_.all[at].text, r_.all[at].line);
  for (size_t at = header_.body; at < header_.end; ++at) read_one(at);
  for (const auto& [at, label] : branches_) {
    const auto to = labels_.find(label);
    if (to == labels_.end()) throw Unreadable(r_.module.code[at].line, label, "no such label");
    r_.module.code[at].target = to->second;
  }
}

void Body::read_one(size_t at) {
  const Statement& s = r_.all[at];
  if (s.text == "{" || s.text == "}" || starts(s.text, ".shared") || starts(s.text, ".pragma") ||
      starts(s.text, ".loc "))
    return;
  if (s.text.back() == ':') {
    labels_[s.text.substr(0, s.text.size() - 1)] = static_cast<uint32_t>(r_.module.code.size());
  } else if (starts(s.text, ".reg")) {
    declare_registers(s.text, s.line);
  } else if (starts(s.text, ".local")) {
    const Declaration d = declaration(s.text, s.line);
    const uint32_t place = rounded(r_.now.local, std::max(d.alignment, 16u));
    own_[d.name] = {Space::local, place, -1};
    r_.now.local = place + size_of(d);
  } else if (starts(s.text, ".param")) {
    declare_call(at, declaration(s.text, s.line));
  } else if (s.text[0] == '.') {
    throw Unreadable(s.line, s.text, "an unknown directive");
  } else {
    instruction(s);
  }
}

void Body::declare_registers(const std::string& text, int line) {
  const size_t dot = text.find('.', 1), blank = text.find(' ', dot);
  const std::string type = text.substr(dot + 1, blank - dot - 1);
  const int bytes = bytes_of(type);
  if (bytes < 0) throw Unreadable(line, text, "registers of an unknown type");
  for (const std::string& name : split(std::string_view(text).substr(blank))) {
    const size_t angle = name.find('<');
    Register g;
    g.count = angle == std::string::npos ? 1 : static_cast<uint32_t>(std::atoi(name.c_str() + angle + 1));
    g.bytes = static_cast<uint32_t>(bytes);
    g.first = bytes == 0 ? r_.now.predicates : r_.now.registers;
    (bytes == 0 ? r_.now.predicates : r_.now.registers) += bytes == 0 ? g.count : g.count * g.bytes * kLanes;
    groups_[name.substr(0, angle) + (angle == std::string::npos ? "" : "<")] = g;
  }
}

// A variable of a call's block is the parameter, or the result, of the function that the block calls: nothing is
// copied at the call.
void Body::declare_call(size_t at, const Declaration& d) {
  for (size_t k = at; k < header_.end && r_.all[k].text != "}"; ++k) {
    const std::string& t = r_.all[k].text;
    const size_t call = t.find("call");
    if (call != 0 && (t[0] != '@' || call == std::string::npos)) continue;
    std::vector<std::string> pieces = split(std::string_view(t).substr(t.find(' ', call)));
    const bool returns = pieces[0][0] == '(';
    const Header& callee = r_.headers.at(pieces[returns ? 1 : 0]);
    const auto inside = [](const std::string& list) {
      return split(std::string_view(list).substr(1, list.size() - 2));
    };
    if (returns)
      for (size_t n = 0; n < inside(pieces[0]).size(); ++n)
        if (inside(pieces[0])[n] == d.name) own_[d.name] = {Space::call, callee.result_at.at(n), -1};
    if (pieces.size() > (returns ? 2u : 1u))
      for (size_t n = 0; n < inside(pieces.back()).size(); ++n)
        if (inside(pieces.back())[n] == d.name) own_[d.name] = {Space::call, callee.parameter_at.at(n), -1};
    return;
  }
  throw Unreadable(r_.all[at].line, r_.all[at].text, "a parameter of no call");
}

const Register* Body::find(const std::string& name, uint32_t& at) const {
  if (const auto one = groups_.find(name); one != groups_.end()) {
    at = one->second.first;
    return &one->second;
  }
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto group = groups_.find(name.substr(0, digits) + "<");
  if (group == groups_.end() || digits == name.size()) return nullptr;
  const uint32_t n = static_cast<uint32_t>(std::atoi(name.c_str() + digits));
  if (n >= group->second.count) return nullptr;
  at = group->second.first + n * (group->second.bytes == 0 ? 1 : group->second.bytes * kLanes);
  return &group->second;
}

uint32_t Body::predicate(const std::string& name, const Statement& s) const {
  uint32_t at = 0;
  if (const Register* r = find(name, at); r != nullptr && r->bytes == 0) return at;
  uint64_t bits = 0;
  if (immediate(name, bits)) return bits == 0 ? kNever : kAlways;
  throw Unreadable(s.line, s.text, "no predicate " + name);
}

Symbol* Body::symbol(const std::string& name) {
  const auto own = own_.find(name);
  if (own != own_.end()) return &own->second;
  const auto at = r_.symbols.find(name);
  if (at == r_.symbols.end()) return nullptr;
  if (at->second.array >= 0) r_.uses_[header_.name].second.insert(at->second.array);
  return &at->second;
}

void Body::operand(Instruction& i, int k, const std::string& text, uint32_t bytes, const Statement& s) {
  uint32_t at = 0;
  uint64_t bits = 0;
  if (text == "_") {
    i.operand[k] = kNowhere;
  } else if (const Register* r = find(text, at); r != nullptr) {
    i.operand[k] = at;
    i.width[k] = static_cast<uint8_t>(r->bytes);
  } else if (immediate(text, bits)) {
    i.operand[k] = bytes == 0 ? (bits == 0 ? kNever : kAlways) : r_.constant(bits, bytes);
    i.width[k] = static_cast<uint8_t>(bytes);
  } else if (const Symbol* named = symbol(text); named != nullptr) {
    i.operand[k] = r_.constant(named->address, bytes);
    i.width[k] = static_cast<uint8_t>(bytes);
  } else {
    throw Unreadable(s.line, s.text, "an unknown operand " + text);
  }
}

// "[%rd1+16]", "[name]": register or symbol, and a distance.
void Body::address(Instruction& i, int k, const std::string& text, int64_t& offset, const Statement& s) {
  if (text.size() < 3 || text.front() != '[') throw Unreadable(s.line, s.text, "not an address: " + text);
  const std::string inner = trimmed(text.substr(1, text.size() - 2));
  const size_t plus = inner.find('+');
  offset = plus == std::string::npos ? 0 : std::atoll(inner.c_str() + plus + 1);
  const std::string base = trimmed(inner.substr(0, plus));
  operand(i, k, base, 8, s);
  if (const auto own = own_.find(base); own != own_.end() && i.space == Space::parameter) i.space = own->second.space;
}

void Body::memory(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s) {
  const bool store = starts(opcode, "st");
  const Space param = header_.entry ? Space::parameter : Space::call;
  for (const std::string& p : parts(opcode)) {
    if (p == "global") i.space = Space::global;
    if (p == "shared") i.space = Space::shared;
    if (p == "shared::cluster") i.space = Space::cluster;
    if (p == "local") i.space = Space::local;
    if (p == "param") i.space = store ? Space::parameter : param;
    if (p == "volatile") i.is_volatile = !store;
    if (p == "v2" || p == "v4") i.count = static_cast<uint8_t>(p[1] - '0');
  }
  if (i.space == Space::call) i.space = Space::parameter;  // address() finds out whose
  const std::string type = parts(opcode).back();
  i.run = access(store, type);
  if (i.run == nullptr) throw Unreadable(s.line, s.text, "an unknown opcode " + opcode);
  std::string values = a.at(store ? 1 : 0);
  if (values[0] == '{') values = values.substr(1, values.size() - 2);
  const std::vector<std::string> each = split(values);
  if (each.size() != i.count) throw Unreadable(s.line, s.text, "not as many registers as the vector has elements");
  for (size_t k = 0; k < each.size(); ++k)
    operand(i, static_cast<int>(k), each[k], static_cast<uint32_t>(bytes_of(type)), s);
  address(i, i.count, a.at(store ? 0 : 1), i.offset, s);
  if (i.space == Space::parameter && !header_.entry) i.space = Space::call;
}

void Body::matrix(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s) {
  i.run = matrices(opcode);
  if (i.run == nullptr) throw Unreadable(s.line, s.text, "an unknown opcode " + opcode);
  i.flow = Flow::whole_mask;
  i.space = Space::shared;
  const std::vector<std::string> each = split(std::string_view(a.at(0)).substr(1, a.at(0).size() - 2));
  i.count = static_cast<uint8_t>(each.size());
  for (size_t k = 0; k < each.size(); ++k) operand(i, static_cast<int>(k), each[k], 4, s);
  address(i, i.count, a.at(1), i.offset, s);
}

void Body::copy(Instruction& i, const std::vector<std::string>& a, const Statement& s) {
  if (a.size() == 4) {
    address(i, 0, a[0], i.offset, s);
    address(i, 1, a[1], i.source_offset, s);
    operand(i, 2, a[2], 4, s);
    operand(i, 3, a[3], 4, s);
  } else if (!a.empty()) {
    operand(i, 0, a[0], 4, s);
  }
}

// cvta puts the mark of a space on an address, or takes it off.
void Body::address_space(Instruction& i, const std::string& opcode, const std::vector<std::string>& a,
                         const Statement& s) {
  const std::vector<std::string> p = parts(opcode);
  const bool to = p[1] == "to";
  const std::string& name = p[to ? 2 : 1];
  const std::map<std::string, Space> spaces = {{"global", Space::global},
                                               {"shared", Space::shared},
                                               {"local", Space::local},
                                               {"param", header_.entry ? Space::parameter : Space::call}};
  const auto space = spaces.find(name);
  if (space == spaces.end() || p.back() != "u64") throw Unreadable(s.line, s.text, "an unknown opcode " + opcode);
  i.run = arithmetic(to ? "and.b64" : "or.b64");
  operand(i, 0, a.at(0), 8, s);
  operand(i, 1, a.at(1), 8, s);
  const uint64_t mark = space->second == Space::global ? 0 : 0xFFull << 56;
  i.operand[2] = r_.constant(to ? ~mark : window_of(space->second), 8);
}

void Body::moves(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s) {
  const bool joins = a.at(1)[0] == '{', parts_of = a[0][0] == '{';
  i.run = arithmetic(joins ? opcode + ".join" : parts_of ? opcode + ".part" : opcode);
  if (i.run == nullptr) throw Unreadable(s.line, s.text, "an unknown opcode " + opcode);
  const auto both = [](const std::string& v) { return split(std::string_view(v).substr(1, v.size() - 2)); };
  const uint32_t bytes = static_cast<uint32_t>(std::max(bytes_of(parts(opcode).back()), 0));
  std::vector<std::string> flat = parts_of ? both(a[0]) : std::vector<std::string>{a[0]};
  for (const std::string& v : joins ? both(a[1]) : std::vector<std::string>{a[1]}) flat.push_back(v);
  for (size_t k = 0; k < flat.size(); ++k) operand(i, static_cast<int>(k), flat[k], joins ? bytes / 2 : bytes, s);
}

void Body::computes(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s) {
  const std::vector<std::string> p = parts(opcode);
  i.run = p[0] == "cvt" ? conversion(opcode) : p[0] == "mapa" ? of_cluster(opcode) : arithmetic(opcode);
  if (i.run == nullptr && (i.run = collective(opcode)) != nullptr) i.flow = Flow::whole_mask;
  if (i.run == nullptr) throw Unreadable(s.line, s.text, "an unknown opcode " + opcode);
  std::vector<std::string> flat;
  for (const std::string& x : a) {
    const bool list = x[0] == '{';
    const size_t bar = x.find('|');
    for (const std::string& one : list ? split(std::string_view(x).substr(1, x.size() - 2)) : split(x))
      if (bar == std::string::npos) flat.push_back(one);
    if (bar != std::string::npos) flat.push_back(x.substr(0, bar)), flat.push_back(x.substr(bar + 1));
  }
  if (p[0] == "shfl" && a[0].find('|') == std::string::npos) flat.insert(flat.begin() + 1, "_");
  if (flat.size() > kOperands) throw Unreadable(s.line, s.text, "too many operands");
  for (size_t k = 0; k < flat.size(); ++k)
    operand(i, static_cast<int>(k), flat[k], source_bytes(p, static_cast<int>(k)), s);
  if (i.flow == Flow::whole_mask && p[0] != "mma") i.member_mask = i.operand[flat.size() - 1];
}

void Body::operands(Instruction& i, const std::string& opcode, std::string arguments, const Statement& s) {
  const std::vector<std::string> a = split(arguments);
  if (starts(opcode, "bra")) {
    i.flow = Flow::branch;
    i.uniform = opcode == "bra.uni";
    branches_.emplace_back(r_.module.code.size(), a.at(0));
  } else if (opcode == "ret" || opcode == "exit" || opcode == "trap") {
    // trap: nvcc puts it where no thread comes. One that did would leave its results unwritten, and tests compare them.
    i.flow = Flow::leave;
  } else if (opcode == "call" || opcode == "call.uni") {
    const std::string& callee = a.at(a[0][0] == '(' ? 1 : 0);
    if (r_.headers.count(callee) == 0) throw Unreadable(s.line, s.text, "no such function");
    i.flow = Flow::call;
    const auto at = std::find(r_.in_order_.begin(), r_.in_order_.end(), callee);
    i.target = static_cast<uint32_t>(at - r_.in_order_.begin());
    r_.uses_[header_.name].first.insert(callee);
  } else if (opcode == "bar.sync" || opcode == "barrier.sync.aligned") {
    if (a.size() != 1 || a[0] != "0") throw Unreadable(s.line, s.text, "a barrier of a part of the block");
    i.flow = Flow::block_barrier;
  } else if (starts(opcode, "barrier.cluster.")) {
    i.run = of_cluster(opcode);
    if (i.run == nullptr) throw Unreadable(s.line, s.text, "an unknown opcode " + opcode);
    if (starts(opcode, "barrier.cluster.wait")) i.flow = Flow::cluster_barrier;
  } else if (starts(opcode, "ld.") || starts(opcode, "st.")) {
    memory(i, opcode, a, s);
  } else if (starts(opcode, "ldmatrix.")) {
    matrix(i, opcode, a, s);
  } else if (starts(opcode, "cvta.")) {
    address_space(i, opcode, a, s);
  } else if (starts(opcode, "cp.") || starts(opcode, "griddepcontrol.")) {
    i.run = asynchronous(opcode);
    if (opcode == "griddepcontrol.wait") i.flow = Flow::launch_before;
    if (i.run == nullptr) throw Unreadable(s.line, s.text, "an unknown opcode " + opcode);
    copy(i, a, s);
  } else if (starts(opcode, "mov.")) {
    moves(i, opcode, a, s);
  } else {
    computes(i, opcode, a, s);
  }
}

void Body::instruction(const Statement& s) {
  Instruction i;
  i.line = s.line;
  std::string text = s.text;
  if (text[0] == '@') {
    const size_t blank = text.find(' ');
    i.unless = text[1] == '!';
    i.guard = predicate(text.substr(i.unless ? 2 : 1, blank - (i.unless ? 2 : 1)), s);
    text = trimmed(text.substr(blank));
  }
  const size_t blank = text.find(' ');
  const std::string opcode = text.substr(0, blank);
  operands(i, opcode, blank == std::string::npos ? "" : text.substr(blank), s);
  r_.module.code.push_back(i);
}

}  // namespace tessera::ptx
