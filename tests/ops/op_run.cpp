#include "op_run.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

namespace tessera::oracle {
namespace {

// as a float −1e20 or less, as an int32 a large negative number; each block has one of its own, so that a copy of
// another's shows
constexpr unsigned char kGuard = 0xE0;
constexpr size_t kGuards = 16;
constexpr int64_t kGuardBytes = 192;

double draw(const Input& i, std::mt19937_64& random) {
  if (i.dtype == DType::index)
    return static_cast<double>(
        std::uniform_int_distribution<int>(static_cast<int>(i.low), static_cast<int>(i.high))(random));
  const float x = std::uniform_real_distribution<float>(static_cast<float>(i.low), static_cast<float>(i.high))(random);
  if (std::fabs(x) >= static_cast<float>(i.apart)) return static_cast<double>(x);
  return static_cast<double>(x < 0 ? x - static_cast<float>(i.apart) : x + static_cast<float>(i.apart));
}

// A matrix in separate memory, with guards around it and between its rows.
class Block {
 public:
  Block(Shape s, DType type, int64_t scalar, Layout l, size_t number) : Block(s, item_bytes(type, scalar), l, number) {
    type_ = type;
  }
  Block(Shape s, int64_t item, Layout l, size_t number)
      : guard_(static_cast<unsigned char>(kGuard + number % kGuards)),
        shape_(s),
        item_(item),
        ld_((s.cols + l.pad + l.multiple - 1) / l.multiple * l.multiple),
        start_(kGuardBytes + l.offset * item) {
    bytes_.assign(static_cast<size_t>(start_ + s.rows * ld_ * item + kGuardBytes + 64), guard_);
    start_ += (64 - static_cast<int64_t>(reinterpret_cast<uintptr_t>(bytes_.data()) % 64)) % 64;
  }
  View view() { return {bytes_.data() + start_, shape_.rows, shape_.cols, ld_, item_, false, false, stored_as(type_)}; }
  template <class T>
  T& at(int64_t r, int64_t c) {
    return *reinterpret_cast<T*>(bytes_.data() + start_ + (r * ld_ + c) * item_);
  }
  void set(int64_t r, int64_t c, double v) {
    if (item_ == 8) at<double>(r, c) = v;
    else if (item_ == 2) at<uint16_t>(r, c) = narrow_bits(v, type_);
    else if (type_ == DType::real) at<float>(r, c) = static_cast<float>(v);
    else at<int32_t>(r, c) = static_cast<int32_t>(v);
  }
  double get(int64_t r, int64_t c) {
    if (item_ == 2) return narrow_value(at<uint16_t>(r, c), type_);
    return item_ == 8             ? at<double>(r, c)
           : type_ == DType::real ? static_cast<double>(at<float>(r, c))
                                  : static_cast<double>(at<int32_t>(r, c));
  }
  bool whole() {
    std::vector<char> ours(bytes_.size(), 0);
    for (int64_t r = 0; r < shape_.rows; ++r)
      std::fill_n(ours.begin() + start_ + r * ld_ * item_, shape_.cols * item_, char(1));
    for (size_t i = 0; i < bytes_.size(); ++i)
      if (!ours[i] && bytes_[i] != guard_) return false;
    return true;
  }

 private:
  unsigned char guard_;
  Shape shape_;
  int64_t item_, ld_, start_;
  DType type_ = DType::real;
  std::vector<unsigned char> bytes_;
};

bool is_narrow(DType type) { return stored_as(type) != Precision::fp32; }

double rounded_to(bool in_float, double v) { return in_float ? static_cast<double>(static_cast<float>(v)) : v; }

}  // namespace

// bf16 is the upper half of a float, rounded to even, without subnormals.
uint16_t narrow_bits(double v, DType type) {
  const float x = static_cast<float>(v);
  if (type == DType::fp16) return std::bit_cast<uint16_t>(static_cast<_Float16>(x));
  if (std::isnan(x)) return 0x7fc0;
  const uint32_t b = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((b & 0x7f800000u) == 0 ? b >> 16 & 0x8000u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
double narrow_value(uint16_t bits, DType type) {
  if (type == DType::fp16) return static_cast<double>(std::bit_cast<_Float16>(bits));
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

Kernel kernel_of(const KernelTable& table, const Op& op, const void** attributes) {
  Kernel kernel{};
  std::visit(
      [&](const auto& o) {
        using T = std::decay_t<decltype(o)>;
        *attributes = &o;
#define TESSERA_PICK(type, field, parts) \
  if constexpr (std::is_same_v<T, type>) kernel = table.field;
        TESSERA_OPS(TESSERA_PICK)
#undef TESSERA_PICK
      },
      op);
  return kernel;
}

bool has_kernel(const KernelTable& table, const Op& op) {
  const void* attributes = nullptr;
  return kernel_of(table, op, &attributes).run != nullptr;
}

std::vector<std::string> op_names(const KernelTable& table) {
  std::vector<std::string> names;
#define TESSERA_ADD(type, field, parts) \
  if (table.field.run != nullptr) names.emplace_back(#field);
  TESSERA_OPS(TESSERA_ADD)
#undef TESSERA_ADD
  return names;
}

Grids draw_inputs(const Case& c, bool in_float) {
  // by name: a new op leaves the inputs of all others alone
  const std::string seed = op_name(c.op) + std::to_string(c.in.size());
  std::seed_seq sequence(seed.begin(), seed.end());
  std::mt19937_64 random(sequence);
  Grids all;
  for (const Input& i : c.in) {
    size_t k = 0;
    all.push_back(i.absent ? Grid() : grid(i.shape.rows, i.shape.cols, [&](int64_t, int64_t) {
      return rounded_to(in_float, i.values.empty() ? draw(i, random) : i.values[k++]);
    }));
  }
  return all;
}

Ran run_kernel(const KernelTable& table, const Case& c, const Grids& in, Layout layout, RunTile run) {
  Plan plan;
  std::vector<Id> ids;
  for (size_t i = 0; i < c.in.size(); ++i)
    ids.push_back(c.in[i].absent ? kNone
                                 : plan.leaf(Leaf::bound, "x" + std::to_string(i), c.in[i].shape, c.in[i].dtype));
  const std::vector<Result> results = infer(c.op, plan, ids);
  const int64_t scalar = table.scalar_bytes;
  std::vector<std::unique_ptr<Block>> inputs, outputs;
  for (size_t i = 0; i < c.in.size(); ++i) {
    inputs.push_back(nullptr);
    if (c.in[i].absent) continue;
    inputs.back() = std::make_unique<Block>(c.in[i].shape, c.in[i].dtype, scalar, layout, i);
    for (int64_t r = 0; r < in[i].rows; ++r)
      for (int64_t k = 0; k < in[i].cols; ++k) inputs.back()->set(r, k, in[i](r, k).v);
  }
  std::vector<View> views;
  views.reserve(c.in.size() + results.size());
  for (const auto& b : inputs) views.push_back(b ? b->view() : View{});
  std::vector<Block*> out;
  for (size_t k = 0; k < results.size(); ++k) {
    const bool narrow = is_narrow(c.narrow_out) && traits(c.op, c.in.size()).narrow_out.has(k);
    const DType type = narrow ? c.narrow_out : results[k].dtype;
    if (static_cast<int>(k) < in_place(c.op)) {
      out.push_back(inputs[k].get());
    } else {
      outputs.push_back(std::make_unique<Block>(results[k].shape, type, scalar, layout, c.in.size() + k));
      out.push_back(outputs.back().get());
      for (int64_t r = 0; r < results[k].shape.rows; ++r)
        for (int64_t i = 0; i < results[k].shape.cols; ++i)
          out.back()->set(r, i, results[k].dtype == DType::index ? -77777 : std::numeric_limits<double>::quiet_NaN());
    }
    views.push_back(out.back()->view());
  }
  StepState state = c.state;
  const void* attributes = nullptr;
  const Kernel kernel = kernel_of(table, c.op, &attributes);
  const Call call{views.data(),
                  views.data() + c.in.size(),
                  static_cast<int>(c.in.size()),
                  static_cast<int>(results.size()),
                  attributes,
                  &state};
  const int64_t scratch = kernel.scratch_bytes == nullptr ? 0 : kernel.scratch_bytes(call);
  Block room({1, scratch + 64}, 1, {}, 0);
  std::vector<int64_t> tiles(static_cast<size_t>(kernel.tiles(call)));
  std::iota(tiles.begin(), tiles.end(), 0);
  if (layout.order == 1) std::reverse(tiles.begin(), tiles.end());
  if (layout.order == 2) std::shuffle(tiles.begin(), tiles.end(), std::mt19937_64(3));
  for (const int64_t t : tiles) {
    std::memset(room.view().data, 0xFF, static_cast<size_t>(scratch));  // NaN in float and double
    run(kernel, call, t, room.view().data);
  }
  Ran ran;
  for (const unsigned char* p = static_cast<unsigned char*>(room.view().data) + scratch;
       p < static_cast<unsigned char*>(room.view().data) + scratch + 64; ++p)
    if (*p != kGuard) ran.damage = "beyond its scratch";
  if (!room.whole()) ran.damage = "around its scratch";
  for (size_t k = 0; k < results.size(); ++k) {
    if (!out[k]->whole()) ran.damage = "around output " + std::to_string(k);
    ran.out.emplace_back();
    const View v = views[c.in.size() + k];
    for (int64_t r = 0; r < v.rows; ++r)
      for (int64_t i = 0; i < v.cols; ++i) ran.out.back().push_back(out[k]->get(r, i));
  }
  for (size_t i = static_cast<size_t>(in_place(c.op)); i < c.in.size(); ++i) {
    if (!inputs[i]) continue;
    bool same = inputs[i]->whole();
    for (int64_t r = 0; r < in[i].rows; ++r)
      for (int64_t k = 0; k < in[i].cols; ++k) {
        const double was = in[i](r, k).v, now = inputs[i]->get(r, k);
        same =
            same && (now == was || (std::isnan(now) && std::isnan(was)) ||
                     (scalar == 4 && now == static_cast<double>(static_cast<float>(was))) ||
                     (is_narrow(c.in[i].dtype) && now == narrow_value(narrow_bits(was, c.in[i].dtype), c.in[i].dtype)));
      }
    if (!same) ran.damage = "its input " + std::to_string(i);
  }
  return ran;
}

Study::Study(const Case& c) : r(plan), values(draw_inputs(c, false)), team_(1), state_(c.state) {
  for (size_t i = 0; i < c.in.size(); ++i)
    in.push_back(c.in[i].absent ? Var{} : r.input("x" + std::to_string(i), c.in[i].shape, c.in[i].dtype));
}

Var Study::weights(Shape shape) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  extras_.emplace_back().reserve(static_cast<size_t>(shape.count()) + 1);
  for (int64_t i = 0; i < shape.count(); ++i) extras_.back().push_back(uniform(random_));
  return r.input("w" + std::to_string(extras_.size() - 1), shape);
}

std::vector<double> Study::run(const std::string& output) {
  if (!program_) program_ = std::make_unique<Program>(plan, *cpu_kernels("double"), team_, state_.seed);
  Program& p = *program_;
  if (reals_.empty()) {
    reals_.resize(values.size());
    indices_.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!in[i]) continue;
      reals_[i].resize(values[i].cells.size() + 1);  // one more: an empty leaf wants an address too
      indices_[i].resize(values[i].cells.size() + 1);
      const bool index = plan[in[i].id].dtype == DType::index;
      p.bind("x" + std::to_string(i), index ? static_cast<const void*>(indices_[i].data()) : reals_[i].data());
    }
    for (size_t i = 0; i < extras_.size(); ++i) p.bind("w" + std::to_string(i), extras_[i].data());
  }
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t k = 0; k < values[i].cells.size(); ++k) {
      reals_[i][k] = values[i].cells[k].v;
      indices_[i][k] = std::isfinite(reals_[i][k]) ? static_cast<int32_t>(reals_[i][k]) : 0;
    }
  p.step() = state_;
  p.run(1);
  return p.read<double>(p.find(output));
}

}  // namespace tessera::oracle
