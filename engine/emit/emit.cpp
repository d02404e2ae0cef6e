#include "engine/emit/emit.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/emit/op_text.h"
#include "engine/plan/op_rules.h"

namespace tessera {
namespace {

// Thrown for ops that cannot be emitted.
struct NotEmitted {
  std::string reason;
};

// ---- the blocks of a chain, as in kernels/gpu/fused/fused.cu ----------------------------------------------------
constexpr int64_t kChunkOfThread = 4, kColumnsOfBlock = 8;

int64_t units_of_block(const FusedChain& c) {
  int64_t rows = 1;  // of a unit's largest value
  for (const FusedStep& s : c) rows = std::max(rows, s.run);
  int64_t each = rows >= 16 ? 1 : 16 / rows;
  while (each > 1 && covered(c.units, each) < 64) each = (each + 1) / 2;
  return each;
}

// ---- the kernel's parameters ----------------------------------------------------------------------------------------
class Parameters {
 public:
  // The member of an address; `name`: of the first view there.
  const std::string& address(const void* p, const std::string& name) {
    auto [at, fresh] = address_of_.try_emplace(p, name);
    for (int k = 2; fresh && !names_.insert(at->second).second; ++k) at->second = name + "_" + std::to_string(k);
    if (fresh) addresses_.push_back(p);
    return at->second;
  }
  // Numbers that are equal are one parameter: n1, n2, … in the order of their first use.
  std::string size(int64_t n) {
    if (n == 0 || n == 1) return std::to_string(n);
    if (n < 0 || n > INT32_MAX) throw NotEmitted{"a size of " + std::to_string(n)};
    auto [at, fresh] = size_of_.try_emplace(n, "n" + std::to_string(sizes_.size() + 1));
    if (fresh) sizes_.push_back(n);
    return "p." + at->second;
  }
  std::string legend() const {
    std::string text, line;
    for (const int64_t n : sizes_) {
      const std::string next = (line.empty() ? "" : ", ") + size_of_.at(n) + " = " + std::to_string(n);
      if (line.size() + next.size() > 112) text += "//   " + line + ",\n", line = next.substr(2);
      else line += next;
    }
    return line.empty() ? text : text + "//   " + line + "\n";
  }
  // Their struct, and their bytes.
  std::string text(std::vector<char>& bytes, StepState* state, const void* workspace) const {
    uintptr_t base = UINTPTR_MAX;
    for (const void* a : addresses_) base = std::min(base, reinterpret_cast<uintptr_t>(a));
    base = addresses_.empty() ? 0 : base / 16 * 16;
    put(bytes, base);
    put(bytes, state);
    put(bytes, workspace);
    for (const void* a : addresses_) {
      const uintptr_t from = reinterpret_cast<uintptr_t>(a) - base;
      if (from % 4 != 0 || from / 4 > UINT32_MAX) throw NotEmitted{"addresses 16 GB away from each other"};
      put(bytes, static_cast<uint32_t>(from / 4));
    }
    for (const int64_t n : sizes_) put(bytes, static_cast<int32_t>(n));
    while (bytes.size() % 8 != 0) bytes.push_back(0);
    std::string text = "struct Parameters : LaunchParameters {\n";
    std::vector<std::string> members;
    for (const void* a : addresses_) members.push_back(address_of_.at(a));
    text += declaration("uint32_t", members);
    members.clear();
    for (const int64_t n : sizes_) members.push_back(size_of_.at(n));
    return text + declaration("int", members) + "};\n";
  }

 private:
  template <class T>
  static void put(std::vector<char>& bytes, const T& v) {
    bytes.insert(bytes.end(), reinterpret_cast<const char*>(&v), reinterpret_cast<const char*>(&v + 1));
  }
  static std::string declaration(const char* type, const std::vector<std::string>& members) {
    if (members.empty()) return "";
    std::string text, line = std::string("  ") + type;
    for (size_t i = 0; i < members.size(); ++i) {
      const std::string next = " " + members[i] + (i + 1 < members.size() ? "," : ";");
      if (line.size() + next.size() > 118) text += line + "\n", line = "     ";
      line += next;
    }
    return text + line + "\n";
  }
  std::set<std::string> names_;
  std::vector<const void*> addresses_;
  std::vector<int64_t> sizes_;
  std::map<const void*, std::string> address_of_;
  std::map<int64_t, std::string> size_of_;
};

// Lines of at most 120 columns: longer ones go on, indented.
std::string wrapped(const std::string& source) {
  constexpr size_t kColumns = 120;
  std::string text;
  for (size_t from = 0; from < source.size();) {
    const size_t end = source.find('\n', from);
    std::string line = source.substr(from, end - from);
    from = end + 1;
    const size_t indent = line.find_first_not_of(' ');
    const std::string next = std::string(indent == std::string::npos ? 0 : indent, ' ') +
                             (line.compare(indent == std::string::npos ? 0 : indent, 2, "//") == 0 ? "//   " : "    ");
    while (line.size() > kColumns) {
      const size_t at = line.rfind(' ', kColumns);
      if (at == std::string::npos || at <= next.size()) break;
      text += line.substr(0, at) + "\n";
      line = next + line.substr(at + 1);
    }
    text += line + "\n";
  }
  return text;
}

// ---- views ----------------------------------------------------------------------------------------------------------
// Where a view's elements lie; two views of one place are one variable.
struct Place {
  const void* data;
  int64_t rows, cols, ld;
  auto operator<=>(const Place&) const = default;
};
Place place_of(const View& v) { return {v.data, v.rows, v.cols, v.rows > 1 ? v.ld : v.cols}; }
bool overlap(const Place& a, const Place& b) {
  const auto end = [](const Place& p) { return static_cast<const char*>(p.data) + 4 * ((p.rows - 1) * p.ld + p.cols); };
  return a.data < end(b) && b.data < end(a);
}

// Whether rows may be accessed 16 bytes at a time.
bool is_wide(const View& v) { return reinterpret_cast<uintptr_t>(v.data) % 16 == 0 && (v.rows <= 1 || v.ld % 4 == 0); }
// The template argument for a view in a loop over the elements of `out` (kernels/gpu/emitted/launch.cuh).
std::string form_of(const View& v, const View& out) {
  const bool column = v.cols == 1 && out.cols != 1;
  std::string form;
  const auto add = [&](bool holds, const char* name) {
    if (holds) form += (form.empty() ? "" : " | ") + std::string(name);
  };
  add(!column && out.cols % 4 == 0, "full");
  add(!column && is_wide(v), "wide");
  add(v.rows == 1 && out.rows != 1, "one_row");
  add(column, "one_column");
  return "<" + (form.empty() ? "plain" : form) + ">";
}

// The form of a loop over rows of `cols` columns.
std::string in_fours(int64_t cols) { return cols % 4 == 0 ? "<full>" : "<plain>"; }

class Emitter {
 public:
  Emitter(const FusedLaunchOp& op, const void* workspace, const std::string& name, const ViewNames& names,
          const FusedLaunchOp* before)
      : op_(op), before_(before), workspace_(workspace), name_(name), names_(names) {}

  EmittedLaunch run() {
    EmittedLaunch out;
    try {
      for (int c = 0; c < op_.count; ++c) chain(op_.chains[c], c + 1);
      const std::string kernel = kernel_text();
      const std::string space = "namespace tessera::gpu::" + name_,
                        parameters = parameters_.text(out.parameters, state_, workspace_);
      out.source = wrapped("#include \"kernels/gpu/emitted/launch.cuh\"\n\n" + space + " {\n\n" + parameters +
                           "static_assert(sizeof(Parameters) <= " + std::to_string(kMaxParameterBytes) + ");\n\n" +
                           functions_ + kernel + "\n}  // " + space + "\n");
      if (static_cast<int64_t>(out.parameters.size()) > kMaxParameterBytes)
        throw NotEmitted{std::to_string(out.parameters.size()) + " bytes of parameters; the limit is " +
                         std::to_string(kMaxParameterBytes)};
      out.blocks = blocks_;
      out.legend = "// " + name_ + " of a step. In this table:\n" + parameters_.legend();
    } catch (const NotEmitted& e) { return {"", "", e.reason, {}, 0}; }
    return out;
  }

 private:
  struct ChainText {  // the chain at hand
    int number;
    std::string views, parts, body;
    std::map<Place, std::string> declared;
    std::map<std::string, std::string> part_of;  // text of a part → its name
  };

  // ---- views and their names ----
  std::string name_of(const View& v, const std::string& by_default) {
    const Place p = place_of(v);
    if (const auto known = named_.find(p); known != named_.end()) return known->second;
    const auto given = names_.find(&v);
    std::string name = given != names_.end() ? given->second : by_default;
    if (!taken_.insert(name).second) name += "_" + std::to_string(taken_.size());
    taken_.insert(name);
    return named_[p] = name;
  }
  // The variable of a view, declared at the chain's beginning.
  std::string variable(const View& v, const std::string& by_default) {
    if (v.data == nullptr) return "View{}";
    if (v.lanes || v.narrow()) throw NotEmitted{"a view of 16 bits or of lanes"};
    std::string name = name_of(v, by_default);
    if (!chain_.declared.emplace(place_of(v), name).second) return name;
    const std::string at = parameters_.address(v.data, name);
    const std::string rows = parameters_.size(v.rows), cols = parameters_.size(v.cols),
                      ld = v.rows > 1 && v.ld != v.cols ? parameters_.size(v.ld) : cols;
    const bool wide = is_wide(v), odd = wide && v.rows <= 1 && v.cols % 4 != 0;  // its ld is not used
    chain_.views += "  const View " + name + " = p." + (wide ? "wide" : "view") + "(p." + at + ", " + rows + ", " +
                    cols + ", " + (odd ? "0" : ld) + ");\n";
    return name;
  }
  std::string operand(const FusedStep& s, int i) {
    return variable(s.call.in[i], "given_" + std::to_string(++operands_));
  }
  std::string result(const FusedStep& s, int i) {
    return variable(s.call.out[i], result_name(s) + (i > 0 ? "_" + std::to_string(i + 1) : ""));
  }
  std::string result_name(const FusedStep& s) {
    return std::string(op_name(static_cast<size_t>(s.kind))) + "_" + std::to_string(steps_);
  }

  OpText text_of(const FusedStep& s) {
    OpText t = op_text(s);
    if (t.type.empty()) throw NotEmitted{std::string(op_name(static_cast<size_t>(s.kind))) + " has no text"};
    if (t.product) {
      std::string slices;
      for (size_t p = 0; p < t.slices.size(); ++p) {
        const View& a = s.call.in[2 * p];
        // Of one slice the length is the depth, so that the compiler knows where it ends.
        const int64_t depth = t.transposed ? a.rows : a.cols, count = t.slices[p].count;
        slices += (p > 0 ? ", {" : "{") + parameters_.size(count) + ", " +
                  parameters_.size(count == 1 ? depth : t.slices[p].length) + "}";
      }
      t.literal += ", {" + slices + "}}";
    }
    if (t.spans != nullptr) {
      const SpanTable& x = *t.spans;
      const std::string items = parameters_.address(x.items, "spans"),
                        conds = x.cond_width > 0
                                    ? "p.at<int>(p." + parameters_.address(x.cond_span, "span_of_condition") + ")"
                                    : "nullptr";
      chain_.declared.try_emplace({x.items, 0, 0, 0}, "spans");
      if (chain_.part_of.emplace("spans " + items, "spans").second)
        chain_.parts += "  const SpanTable " + items + "{p.at<SpanTable::Item>(p." + items + "), " + conds + ", " +
                        parameters_.size(x.count) + ", " + parameters_.size(x.width) + ", " +
                        parameters_.size(x.tanhs) + ", " + parameters_.size(x.softmaxes) + ", " +
                        parameters_.size(x.cond_width) + "};\n";
      t.literal = t.type + "{&" + items + t.literal + "}";
    }
    if (t.blocks != nullptr) {
      const BlockTable& x = *t.blocks;
      const std::string items = parameters_.address(x.items, "blocks");
      const std::string holes = x.hole_count > 0
                                    ? "p.at<BlockTable::Item>(p." + parameters_.address(x.holes, items + "_holes") + ")"
                                    : "nullptr";
      if (chain_.part_of.emplace("blocks " + items, "blocks").second)
        chain_.parts += "  const BlockTable " + items + "{p.at<BlockTable::Item>(p." + items + "), " + holes + ", " +
                        parameters_.size(x.count) + ", " + parameters_.size(x.hole_count) + ", " +
                        parameters_.size(x.depth) + ", " + parameters_.size(x.rows) + ", " + parameters_.size(x.cols) +
                        "};\n";
      t.literal = std::string("BlockMatmul{") + t.literal_before + "&" + items + t.literal + "}";
    }
    return t;
  }
  std::string call_of(const FusedStep& s, std::string& comment) {
    const OpText t = text_of(s);
    std::vector<std::string> in, out;
    std::string ins, outs;
    for (int i = 0; i < s.call.inputs; ++i) {
      in.push_back(operand(s, i));
      ins += (i > 0 ? ", " : "") + in.back();
    }
    for (int i = 0; i < s.call.outputs; ++i) {
      out.push_back(result(s, i));
      outs += (i > 0 ? ", " : "") + out.back();
    }
    comment =
        with_names(t.formula, in, out) + (s.part == FusedStep::slices ? ", each slice of the depth by its own blocks"
                                          : s.part == FusedStep::sum  ? ": the sum of the slices"
                                                                      : "");
    return t.literal + ", in(" + ins + "), out(" + outs + ")";
  }

  // ---- chains ----
  void chain(const FusedChain& c, int number) {
    chain_ = {number, "", "", "", {}, {}};
    const std::string n = std::to_string(number);
    int64_t blocks = 0;
    state_ = c.count > 0 && c.steps[0].call.state != nullptr ? c.steps[0].call.state : state_;
    std::string head;
    switch (c.cut) {
      case FusedChain::rows: {
        const int64_t each = units_of_block(c);
        blocks = covered(c.units, each);
        head = "// Rows: a block takes some units through all ops.\n";
        chain_.parts = "  const UnitsOfRows units(block, " + parameters_.size(each) + ", " + parameters_.size(c.units) +
                       ", p, state, shared);\n";
        break;
      }
      case FusedChain::cols:
        blocks = covered(c.units, kColumnsOfBlock);
        head = "// Columns: a block takes 8.\n";
        chain_.parts =
            "  const ColsPart columns = columns_of(block, " + parameters_.size(c.units) + ", p, state, shared);\n";
        break;
      case FusedChain::flat:
        blocks = covered(c.units, kEmittedThreads * kChunkOfThread);
        head = "// Elements: a thread takes 4.\n";
        chain_.parts = "  const ElementsOf" + in_fours(c.units) + " elements{block};\n";
        break;
      case FusedChain::tiles: {
        const FusedStep& s = c.steps[0];
        const View& out = s.call.out[0];
        const OpText t = op_text(s);
        if (t.down == 0) throw NotEmitted{"tiles of " + std::string(op_name(static_cast<size_t>(s.kind)))};
        blocks = t.parts * covered(out.rows, t.down) * covered(out.cols, t.across);
        head = "// Tiles of " + std::to_string(t.down) + " x " + std::to_string(t.across) + ".\n";
        const std::string first = result(s, 0);
        chain_.parts = "  const Tiling tiling{" + parameters_.size(out.rows) + ", " + parameters_.size(out.cols) +
                       ", " + std::to_string(t.down) + ", " + std::to_string(t.across) +
                       "};\n  const TilesPart tile{block, tiling, FusedStep::" + part_name(s.part) +
                       ", p.workspace, shared};\n";
        if (c.count > 1) chain_.parts += "  const ElementsOfTile" + in_fours(out.cols) + " elements{tile};\n";
        break;
      }
    }
    for (int i = 0; i < c.count;) i += step(c, i);
    functions_ += head + "__device__ void chain_" + n +
                  "(const Parameters& p, int block, const StepState& state, float* shared) {\n" + chain_.views +
                  chain_.parts + chain_.body + "}\n\n";
    block_counts_.push_back(blocks);
    blocks_ += blocks;
  }
  static std::string part_name(FusedStep::Part part) {
    return part == FusedStep::slices ? "slices" : part == FusedStep::sum ? "sum" : "all";
  }

  // The rows of a step, as a variable.
  std::string rows_of(const FusedStep& s) {
    const View& out = s.call.out[0];
    const int64_t repeats = s.stride > 0 ? out.rows / s.stride : 1;
    std::string call = "units.rows(" + std::to_string(s.run);
    if (repeats > 1 || s.part == FusedStep::sum)
      call += ", " + parameters_.size(s.stride) + ", " + std::to_string(repeats);
    call += s.part == FusedStep::sum ? ", FusedStep::sum)" : ")";
    auto [at, fresh] = chain_.part_of.try_emplace(call, "");
    if (fresh) {
      std::string name = repeats > 1 ? "stacked" : s.part == FusedStep::sum ? "summed" : "rows";
      for (int k = 2; !parts_taken_.insert(std::to_string(chain_.number) + name).second; ++k)
        name = (repeats > 1 ? "stacked_" : s.part == FusedStep::sum ? "summed_" : "rows_") + std::to_string(k);
      at->second = name;
      chain_.parts += "  const RowsPart " + name + " = " + call + ";\n";
    }
    return at->second;
  }

  static bool in_registers(const FusedChain& c, const FusedStep& s) {
    const OpText t = op_text(s);
    return s.part == FusedStep::all && t.blocks == nullptr &&
           (t.draws ? c.cut == FusedChain::rows : !t.function.empty());
  }
  // How many steps from the first on can share one loop over elements.
  int together(const FusedChain& c, int first) {
    const auto alike = [&](const FusedStep& a, const FusedStep& b) {
      const View &x = a.call.out[0], &y = b.call.out[0];
      return x.rows == y.rows && x.cols == y.cols && a.run == b.run && a.stride == b.stride;
    };
    std::vector<Place> written, read_otherwise;
    int n = first;
    for (; n < c.count && in_registers(c, c.steps[n]) && (n == first || alike(c.steps[first], c.steps[n])); ++n) {
      const FusedStep& s = c.steps[n];
      const Place to = place_of(s.call.out[0]);
      bool fits = true;
      std::vector<Place> others;
      for (int i = 0; i < s.call.inputs; ++i) {
        if (s.call.in[i].data == nullptr) continue;
        const Place from = place_of(s.call.in[i]);
        const bool same_place = std::find(written.begin(), written.end(), from) != written.end();
        for (const Place& w : written) fits = fits && (same_place || w == from || !overlap(w, from));
        if (from != to) others.push_back(from);
      }
      for (const Place& w : written) fits = fits && (w == to || !overlap(w, to));
      for (const Place& r : others) read_otherwise.push_back(r);
      for (const Place& r : read_otherwise)
        fits = fits && ((r.rows == to.rows && r.cols == to.cols && r == to) || !overlap(r, to));
      if (!fits) break;
      written.push_back(to);
    }
    return std::max(n - first, 1);
  }

  int step(const FusedChain& c, int i) {
    const FusedStep& s = c.steps[i];
    const bool last = i + 1 == c.count;
    if ((c.cut != FusedChain::tiles || i > 0) && in_registers(c, s)) {
      const int n = together(c, i);
      registers(c, i, n);
      if (i + n < c.count && (c.cut == FusedChain::rows || c.cut == FusedChain::cols)) barrier();
      return n;
    }
    ++steps_;
    std::string comment;
    const std::string call = call_of(s, comment);
    chain_.body += "\n  // " + comment + "\n  ";
    switch (c.cut) {
      case FusedChain::rows: chain_.body += by_rows(c, s, call); break;
      case FusedChain::cols:
        chain_.body += (op_text(s).product  ? "product_of_columns(columns, "
                        : op_text(s).shared ? "update_columns" + in_fours(c.units) + "(columns, "
                                            : "do_columns(columns, ") +
                       call + ");\n";
        break;
      case FusedChain::flat: chain_.body += "do_elements(elements, " + call + ", state, shared);\n"; break;
      case FusedChain::tiles:
        chain_.body += i == 0 ? by_tile(s, call) : "do_elements(elements, " + call + ", state, shared);\n";
        break;
    }
    // Elements of a chain by elements, and those after a tile, are each its own thread's; Adam's rates are the block's.
    const bool shares =
        c.cut == FusedChain::rows || c.cut == FusedChain::cols || (c.cut == FusedChain::tiles && i == 0);
    if (!last && (shares || op_text(c.steps[i + 1]).shared)) barrier();
    return 1;
  }
  std::string workspace_of(const FusedStep& s) { return ", " + parameters_.size(s.workspace) + ");\n"; }
  std::string by_rows(const FusedChain& c, const FusedStep& s, const std::string& call) {
    const std::string rows = rows_of(s);
    if (!op_text(s).product) return "do_rows(" + rows + ", " + call + ");\n";
    if (s.part == FusedStep::sum) return "sum_of_slices(" + rows + ", " + call + workspace_of(s);
    const int64_t repeats = s.stride > 0 ? s.call.out[0].rows / s.stride : 1,
                  most = units_of_block(c) * s.run * repeats;
    if (most <= 8 && s.call.out[0].cols == 1) return "product_of_one_column(" + rows + ", " + call + ");\n";
    return std::string("product_of_rows<") +
           (most <= 4   ? "4"
            : most <= 8 ? "8"
                        : "16") +
           ">(" + rows + ", " + call + ");\n";
  }
  std::string by_tile(const FusedStep& s, const std::string& call) {
    const OpText t = op_text(s);
    if (!t.function.empty()) return "block_product_of_tile" + t.function + "(tile, " + call + ");\n";
    if (!t.product) return "do_tile(tile, " + call + ");\n";
    const std::string down = "<" + std::to_string(t.down) + ">(tile, " + call;
    if (s.part == FusedStep::sum) return "sum_of_slices(tile, " + call + workspace_of(s);
    if (s.part == FusedStep::slices) return "slices_of_product" + down + workspace_of(s);
    return t.deep ? "deep_product(tile, " + call + ");\n" : "product_of_tile" + down + ");\n";
  }
  void barrier() { chain_.body += "  __syncthreads();\n"; }

  // Elementwise ops of one shape: a loop whose values stay in registers; each is stored once.
  void registers(const FusedChain& c, int first, int count) {
    const FusedStep& begin = c.steps[first];
    std::map<Place, std::string> held;  // in a register
    std::string body;
    int number = 0;
    for (int i = first; i < first + count; ++i) {
      const FusedStep& s = c.steps[i];
      ++steps_;
      std::vector<std::string> in, named;
      const std::string to = result(s, 0);
      const OpText t = text_of(s);
      for (int k = 0; k < s.call.inputs; ++k) {
        const View& v = s.call.in[k];
        if (t.draws) {
          in.push_back(operand(s, k));
          continue;
        }
        const Place p = place_of(v);
        named.push_back(held.contains(p) ? name_of(v, "") : operand(s, k));
        if (!held.contains(p)) {
          held[p] = "x" + std::to_string(++number);
          body += "    const Four " + held[p] + " = load" + form_of(v, s.call.out[0]) + "(" + named.back() +
                  ", r, c, end);\n";
        }
        in.push_back(held[p]);
      }
      const std::string value = "y" + std::to_string(++number);
      std::string line = "    const Four " + value + " = ";
      if (t.draws) {
        line += "random_four(" + t.literal + ", " + (in.empty() ? "View{}" : in[0]) + ", state, r, c);";
      } else if (in.empty()) {
        line += t.function + ";";
      } else {
        line += "each(" + t.function;
        for (const std::string& x : in) line += ", " + x;
        line += ");";
      }
      body += "    // " + with_names(t.formula, t.draws ? in : named, {to}) + "\n" + line + "\n";
      const Place p = place_of(s.call.out[0]);
      held[p] = value;
      body += "    store" + form_of(s.call.out[0], s.call.out[0]) + "(" + to + ", r, c, end, " + value + ");\n";
    }
    const View& out = begin.call.out[0];
    std::string loop;
    switch (c.cut) {
      case FusedChain::rows:
        loop = "each_chunk(" + rows_of(begin) + ", " + parameters_.size(out.cols) + ", [&](int r, int c, int end) {\n";
        break;
      case FusedChain::cols:
        loop = "each_chunk(columns, " + parameters_.size(out.rows) + ", [&](int r, int c, int end) {\n";
        break;
      case FusedChain::flat:
      case FusedChain::tiles:
        loop = "elements(" + parameters_.size(out.rows) + ", " + parameters_.size(out.cols) +
               ", [&](int r, int c, int end) {\n";
        break;
    }
    chain_.body += "\n  " + loop + body + "  });\n";
  }

  // Whether the launch before may write the counter that this one reads: end_count() and begin_count() do.
  bool counter_is_late() const { return before_ == nullptr || (op_.last ? before_->first : before_->last); }

  std::string kernel_text() {
    const std::string wait = "  wait_for_launch_before();\n",
                      read = std::string("  read_state(state, p.state, ") + (op_.last ? "true" : "false") + ");\n";
    std::string text = "extern \"C\" __global__ void __launch_bounds__(kThreads, 2) " + name_ +
                       "(const __grid_constant__ Parameters p) {\n"
                       "  TESS_SHARED(shared, float[kSharedFloats]);\n  TESS_SHARED(state, StepState);\n" +
                       (counter_is_late() ? wait + read : read + wait);
    state_ = op_.state != nullptr ? op_.state : state_;
    int counting = 1;
    for (int c = 0; c < op_.count; ++c)
      for (const FusedStep& s : op_.chains[c])
        if (op_text(s).reports) counting = c + 1;
    if (op_.count == 1) {
      text += "  const int block = static_cast<int>(blockIdx.x);\n  chain_1(p, block, state, shared);\n";
    } else {
      text += "  int block = static_cast<int>(blockIdx.x), chain = 1;\n";
      for (int c = 1; c < op_.count; ++c) {
        const std::string n = std::to_string(c);
        const std::string blocks = parameters_.size(block_counts_[static_cast<size_t>(c - 1)]);
        text += "  if (chain == " + n + " && block >= " + blocks + ") block -= " + blocks +
                ", chain = " + std::to_string(c + 1) + ";\n";
      }
      text += "  switch (chain) {\n";
      for (int c = 1; c <= op_.count; ++c)
        text +=
            "    case " + std::to_string(c) + ": chain_" + std::to_string(c) + "(p, block, state, shared); break;\n";
      text += "  }\n";
    }
    const std::string counts =
        op_.count == 1 ? "block == 0" : "chain == " + std::to_string(counting) + " && block == 0";
    if (op_.first) text += "  if (" + counts + ") begin_count(p.state, state);\n";
    if (op_.last) text += "  if (" + counts + ") end_count(p.state, state);\n";
    return text + "}\n";
  }

  const FusedLaunchOp &op_, *before_;
  const void* workspace_;
  std::string name_;
  const ViewNames& names_;
  Parameters parameters_;
  ChainText chain_{};
  std::map<Place, std::string> named_;
  std::set<std::string> taken_, parts_taken_;
  std::string functions_;
  std::vector<int64_t> block_counts_;
  int64_t blocks_ = 0;
  int steps_ = 0, operands_ = 0;
  StepState* state_ = nullptr;
};

}  // namespace

EmittedLaunch emit_launch(const FusedLaunchOp& op, const void* workspace, const std::string& name,
                          const ViewNames& names, const FusedLaunchOp* before) {
  return Emitter(op, workspace, name, names, before).run();
}

}  // namespace tessera
