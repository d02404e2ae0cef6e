// The source of a launch that has nothing but recurrent layers, one after the other: Tessera runs those by its
// interpreter of launches and writes no text for them. Names are the layers' own: x, length, w_x_1, y_1, w_x_2 …
#pragma once
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/emit/emit.h"
#include "kernels/fused.h"

namespace lab {

inline bool only_layers(const tessera::FusedLaunchOp& op) {
  using namespace tessera;
  if (op.count != 1 || op.chains[0].cut != FusedChain::rows || op.first || op.last) return false;
  for (const FusedStep& s : op.chains[0])
    if (s.kind != OpKind::recurrent || s.call.in[0].lanes) return false;
  return true;
}

class LayersText {
 public:
  LayersText(const tessera::FusedLaunchOp& op, const void* workspace, const std::string& name)
      : chain_(op.chains[0]), workspace_(workspace), name_(name) {}

  tessera::EmittedLaunch run() {
    using namespace tessera;
    std::string layers;
    for (int i = 0; i < chain_.count; ++i) layers += layer(chain_.steps[i], i);
    const Call& first = chain_.steps[0].call;
    const int64_t sequences = first.out[0].rows, of_block = sequences_of_block(sequences);
    const std::vector<std::pair<std::string, int64_t>> sizes{
        {"sequences", sequences}, {"inputs", first.in[4].rows}, {"units", first.in[5].rows}};
    EmittedLaunch out;
    out.blocks = (sequences + of_block - 1) / of_block;
    const std::string each = std::to_string(of_block), n = std::to_string(chain_.count),
                      space = "namespace tessera::gpu::" + name_;
    std::string members, numbers, legend;
    for (const auto& [member, address] : addresses_)
      members += (members.empty() ? " " : member.rfind("w_x", 0) == 0 ? ",\n      " : ", ") + member;
    for (const auto& [member, size] : sizes) {
      numbers += (numbers.empty() ? " " : ", ") + member;
      legend += (legend.empty() ? "" : ", ") + member + " = " + std::to_string(size);
    }
    out.legend = "// " + name_ + " of a step, " + n + " recurrent layers. In this table:\n//   " + legend + "\n";
    out.source =
        "#include \"kernels/gpu/emitted/launch.cuh\"\n\n" + space +
        " {\n\nstruct Parameters : LaunchParameters {\n  uint32_t" + members + ";\n  int" + numbers +
        ";\n};\n\n// A block takes " + each +
        " of the sequences through all layers: a wavefront of them, where it fits the block.\n"
        "extern \"C\" __global__ void __launch_bounds__(kThreads, 2) " +
        name_ +
        "(const __grid_constant__ Parameters p) {\n"
        "  TESS_SHARED(shared, float[kSharedFloats]);\n  TESS_SHARED(state, StepState);\n"
        "  TESS_SHARED(bytes, float4[" +
        n +
        " * sizeof(RecurrentLayer) / 16]);\n  auto* layers = reinterpret_cast<RecurrentLayer*>(bytes);\n"
        "  read_state(state, p.state, false);\n"
        "  const UnitsOfRows units(static_cast<int>(blockIdx.x), " +
        each + ", p.sequences, p, state, shared);\n  if (threadIdx.x == 0) {\n" + layers +
        "  }\n  __syncthreads();\n  const bool wave = in_a_wave(" + cell() +
        ", p.inputs, p.units, kSharedFloats);\n  const int span = wave ? min(" + n + ", wave_layers(" + cell() +
        ", p.units)) : 1;\n  for (int i = 0; i < " + n +
        "; i += span) {\n    if (i > 0) __syncthreads();\n    Fused<Recurrent>::layers(layers + i, min(span, " + n +
        " - i), units.rows(1));\n  }\n}\n\n}  // " + space + "\n";
    out.parameters = bytes(sizes, first.state);
    return out;
  }

 private:
  // Of a block, as the interpreter has them (kernels/gpu/fused/fused.cu): up to two blocks for each multiprocessor.
  static int64_t sequences_of_block(int64_t sequences) {
    int64_t each = 16;
    while (each > 1 && (sequences + each - 1) / each < 264) each = (each + 1) / 2;
    return each;
  }
  std::string cell() const {
    const auto of = static_cast<const tessera::Recurrent*>(chain_.steps[0].call.op)->cell;
    return of == tessera::Cell::gru ? "Cell::gru" : of == tessera::Cell::lstm ? "Cell::lstm" : "Cell::gru_reset_before";
  }
  std::string view(const tessera::View& v, const std::string& name) {
    if (v.data == nullptr) return "View{}";
    const auto [at, fresh] = names_.try_emplace(v.data, name);
    if (fresh) addresses_.emplace_back(name, static_cast<const char*>(v.data));
    return "p.view(p." + at->second + ", " + std::to_string(v.rows) + ", " + std::to_string(v.cols) + ", " +
           std::to_string(v.rows > 1 ? v.ld : v.cols) + ")";
  }
  std::string layer(const tessera::FusedStep& s, int i) {
    const auto& op = *static_cast<const tessera::Recurrent*>(s.call.op);
    if (op.factors != tessera::Precision::fp32)
      throw tessera::Error(tessera::ErrorCode::unsupported, "Layers with factors of 16 bits or tf32.");
    const char *in[] = {"x", "length", "h0_", "c0_", "w_x_", "w_h_", "b_x_", "b_h_"},
               *out[] = {"y_", "h_last_", "saved_", "c_last_"};
    const std::string n = std::to_string(i + 1);
    const auto all = [&](const tessera::View* views, int count, const char* const* names) {
      std::string text;
      for (int k = 0; k < count; ++k) {
        const std::string name = names[k];
        text += (k > 0 ? ",\n          " : "") + view(views[k], name.back() == '_' ? name + n : name);
      }
      return text;
    };
    std::ostringstream attributes;
    attributes << cell() << ", " << op.steps << ", " << op.forget_bias;
    const std::string given = all(s.call.in, s.call.inputs, in), made = all(s.call.out, s.call.outputs, out);
    return "    layers[" + std::to_string(i) + "] = step_of(FusedChain::rows, Recurrent{" + attributes.str() +
           "},\n      in(" + given + "),\n      out(" + made + "));\n";
  }
  std::vector<char> bytes(const std::vector<std::pair<std::string, int64_t>>& sizes, tessera::StepState* state) const {
    std::vector<char> all;
    const auto put = [&](auto value) {
      all.insert(all.end(), reinterpret_cast<char*>(&value), reinterpret_cast<char*>(&value) + sizeof value);
    };
    uintptr_t base = UINTPTR_MAX;
    for (const auto& [name, at] : addresses_) base = std::min(base, reinterpret_cast<uintptr_t>(at) / 16 * 16);
    put(base), put(state), put(workspace_);
    for (const auto& [name, at] : addresses_) put(static_cast<uint32_t>((reinterpret_cast<uintptr_t>(at) - base) / 4));
    for (const auto& [name, size] : sizes) put(static_cast<int32_t>(size));
    all.resize((all.size() + 7) / 8 * 8);
    return all;
  }

  const tessera::FusedChain& chain_;
  const void* workspace_;
  std::string name_;
  std::map<const void*, std::string> names_;
  std::vector<std::pair<std::string, const char*>> addresses_;
};

}  // namespace lab
