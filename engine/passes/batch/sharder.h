// A step rewritten for a part of its batch, op by op: of a rank (shard.cpp), or of a micro-batch (micro_batches.cpp).
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/passes/batch/cut_step.h"
#include "engine/passes/batch/parts.h"
#include "engine/passes/batch/shared_updates.h"
#include "engine/passes/rewrite.h"
#include "kernels/shards.h"

namespace tessera::batch_parts {

// One rank's part of a plan, or one micro-batch's: then all micro-batches are in one new plan (MicroBatches).
class Sharder : private CutStep<Part> {
 public:
  Sharder(const Plan& plan, const RankCut& cut, Plan& next, Recorder& recorder)
      : CutStep(plan, cut, next, recorder), units_(units_of(plan)) {
    if (units_ < cut.shards)
      throw Error(ErrorCode::usage, "A batch of this training has " + std::to_string(units_) +
                                        " parts that can be computed separately (packs of rows, or tiles of " +
                                        std::to_string(kSequenceTile) + " sequences), and `virtual_shards` asks for " +
                                        std::to_string(cut.shards) +
                                        ".\n  Ask for fewer, or for a `batch_size` that holds more of them.");
  }

  // Returns the rank's parts of the states that it does not have whole.
  StateCuts run() {
    if (cut_.ranks > 1 && (adds_its_shards() || own_shards() == 1))
      shared_.emplace(old_, cut_.ranks, cut_.least_shared);
    StateCuts cuts;
    for (const Leaf& leaf : old_.leaves) {
      Shape own = old_.shape(leaf.value);
      if (shared_ && shared_->cuts(leaf.value)) {
        const StateStretch mine = share_of(cut_.rank, own.cols);
        cuts[leaf.name] = {own.cols, {mine}};
        own.cols = mine.count;
      }
      put(leaf.value, {.value = r_.var(next_.leaf(leaf.kind, leaf.name, own, old_[leaf.value].dtype))});
    }
    open_exchanges();
    for (const Node& x : old_.nodes) take(x);
    finish();
    return cuts;
  }

 private:
  friend class MicroBatches;
  void finish() {
    for (const Id v : old_.outputs) next_.outputs.push_back(whole_of(v).id);
    for (const auto& [id, name] : old_.names)
      if (const Part* p = find(id); p != nullptr && p->kind != Part::sums) next_.names[p->value.id] = name;
    next_.fuse = old_.fuse;
    next_.row_cut = old_.row_cut;
    next_.precision = old_.precision, next_.narrow = old_.narrow;
  }

  // ---- the cut ----------------------------------------------------------------------------------
  // Where shard `s` of a segment of `rows` rows begins.
  int64_t begin(int64_t rows, int s) const { return rows / units_ * shard_begin(units_, cut_.shards, s); }
  int64_t own_begin(int64_t rows) const { return begin(rows, first_shard()); }
  int64_t rows_of_rank(int64_t rows, int rank) const {
    return begin(rows, (rank + 1) * own_shards()) - begin(rows, rank * own_shards());
  }
  int64_t own_rows(int64_t rows) const { return rows_of_rank(rows, cut_.rank); }
  int64_t own_rows(const Segments& segments) const {
    int64_t rows = 0;
    for (const int64_t s : segments) rows += own_rows(s);
    return rows;
  }

  [[noreturn]] void refuse(const Node& x, const std::string& why) const {
    throw Error(ErrorCode::unsupported,
                "This step cannot be cut by the rows of its batch: " + why + " (" + op_name(x.op) +
                    ").\n  Train it on one device, without `virtual_shards` and `micro_batch`.");
  }
  void check_whole_units(const Node& x, const Segments& segments) const {
    for (const int64_t rows : segments)
      if (rows % units_ != 0) refuse(x, "an op joins rows of different shards");
  }

  // ---- values -----------------------------------------------------------------------------------
  void put_rows(Id old, Var value, Segments segments) {
    put(old, {.kind = Part::rows, .value = value, .segments = std::move(segments)});
  }
  // A value, made whole.
  Var whole_of(Id old) {
    if (old == kNone) return {};
    make_whole({old});
    if (is(old, Part::rows)) refuse(*old_.maker(old), "a value of every row is needed as a whole");
    return part(old).value;
  }
  // This rank's rows of a value; for a value that it has whole, its rows of the given segments.
  Var rows_of(const Node& x, Id old, const Segments& segments) {
    if (is(old, Part::rows)) {
      if (part(old).segments != segments) refuse(x, "its inputs are put together from different batches");
      return part(old).value;
    }
    const Var all = whole_of(old);
    check_whole_units(x, segments);
    const int64_t rows = own_rows(segments);
    if (const auto* f = old_.made_by<Fill>(old)) return fill(r_, {rows, f->cols}, f->value);
    if (const Node* b = old_.maker(old); b != nullptr && std::holds_alternative<Broadcast>(b->op))
      if (const Var one = part(b->in[0]).value; one.rows() == 1) return broadcast(one, {rows, all.cols()});
    std::vector<Var> own;
    int64_t start = 0;
    for (const int64_t s : segments) {
      own.push_back(slice_rows(all, start + own_begin(s), own_rows(s)));
      start += s;
    }
    return concat_rows(own);
  }

  // The rows that shard `s` of this rank has of a value made of rows.
  Var piece(Var own, const Segments& segments, int s) const {
    std::vector<Var> out;
    int64_t start = 0;
    for (const int64_t rows : segments) {
      const int64_t from = begin(rows, first_shard() + s);
      out.push_back(slice_rows(own, start + from - own_begin(rows), begin(rows, first_shard() + s + 1) - from));
      start += own_rows(rows);
    }
    return concat_rows(out);
  }

  // ---- ops --------------------------------------------------------------------------------------
  bool drawn(const Node& x) const { return drawn_rows(old_, x) > 0; }
  bool has_rows(const Node& x) const {
    return std::any_of(x.in.begin(), x.in.end(), [&](Id v) { return is(v, Part::rows); });
  }
  void take(const Node& x) {
    if (shared_ && shared_->omits(x)) return;
    if (shared_ && shared_->shares(x)) return std::holds_alternative<Adam>(x.op) ? share_update(x) : share_average(x);
    if (drawn(x)) return draw(x);
    if (stays_open(x)) return on_sums(x);
    make_whole(x.in);
    if (!has_rows(x)) return keep(x);
    if (over_sequences(x.op)) return sequences(x);
    if (traits(x).sums.any()) return reduce(x);
    if (const auto* n = std::get_if<BatchNorm>(&x.op)) return normalise(x, *n);
    if (const auto* n = std::get_if<BatchNormGrad>(&x.op)) return normalise_grad(x, *n);
    if (std::holds_alternative<Reshape>(x.op)) return reshape_rows(x);
    if (const auto* s = std::get_if<SliceRows>(&x.op)) return slice(x, *s);
    if (std::holds_alternative<ConcatRows>(x.op)) return join(x);
    row_by_row(x);
  }

  void keep(const Node& x) {
    std::vector<Var> in;
    for (const Id v : x.in) in.push_back(v == kNone ? Var{} : part(v).value);
    put_all(x, r_.emit(x.op, in));
  }
  void put_all(const Node& x, const std::vector<Var>& out) {
    for (size_t k = 0; k < out.size(); ++k) put(x.out[k], {.value = out[k]});
  }

  void draw(const Node& x) {
    const int64_t rows = drawn_rows(old_, x);
    if (std::holds_alternative<SliceRows>(x.op)) {
      put_rows(x.out[0], slice_rows(whole_of(x.in[0]), own_begin(rows), own_rows(rows)), {rows});
      return;
    }
    if (has_rows(x) || (std::holds_alternative<Random>(x.op) ? x.in[0] : x.in[4]) != kNone)
      refuse(x, "its rows are given from outside");
    Op op = x.op;
    if (auto* r = std::get_if<Random>(&op)) r->rows = own_rows(rows), r->first = own_begin(rows);
    if (auto* d = std::get_if<DrawConditions>(&op)) d->rows = own_rows(rows), d->first = own_begin(rows);
    std::vector<Var> in;
    for (const Id v : x.in) in.push_back(whole_of(v));
    const std::vector<Var> out = r_.emit(op, in);
    for (size_t k = 0; k < out.size(); ++k) put_rows(x.out[k], out[k], {rows});
  }

  // The segments of the first input that has rows.
  const Segments& segments_of(const Node& x, const std::function<bool(size_t)>& counts) const {
    for (size_t i = 0; i < x.in.size(); ++i)
      if (is(x.in[i], Part::rows) && counts(i)) return part(x.in[i]).segments;
    refuse(x, "an op reads rows of others");
  }

  void row_by_row(const Node& x) {
    const Traits t = traits(x);
    const Segments segments = segments_of(x, [&](size_t i) { return t.rows.input(i); });
    const int64_t rows = sum_of(segments);
    std::vector<Var> in;
    for (size_t i = 0; i < x.in.size(); ++i) {
      const Id v = x.in[i];
      const bool follows = v != kNone && t.rows.input(i) && old_.shape(v).rows == rows;
      if (is(v, Part::rows) && !follows) refuse(x, "an op reads rows of others");
      in.push_back(follows ? rows_of(x, v, segments) : whole_of(v));
    }
    Op op = x.op;
    if (auto* b = std::get_if<Broadcast>(&op)) b->rows = own_rows(segments);
    const std::vector<Var> out = r_.emit(op, in);
    for (size_t k = 0; k < out.size(); ++k) {
      if (old_.shape(x.out[k]).rows != rows) refuse(x, "an op makes another number of rows");
      put_rows(x.out[k], out[k], segments);
    }
  }

  // ---- moves ------------------------------------------------------------------------------------
  void reshape_rows(const Node& x) {
    const Shape from = old_.shape(x.in[0]), to = old_.shape(x.out[0]);
    Segments segments = part(x.in[0]).segments;
    for (int64_t& rows : segments) {
      if (rows * from.cols % to.cols != 0) refuse(x, "an op joins rows of different shards");
      rows = rows * from.cols / to.cols;
    }
    check_whole_units(x, segments);
    put_rows(x.out[0], reshape(part(x.in[0]).value, {own_rows(segments), to.cols}), segments);
  }

  void slice(const Node& x, const SliceRows& op) {
    const Part& from = part(x.in[0]);
    Segments taken;
    int64_t at = 0, start = 0;
    for (const int64_t rows : from.segments) {
      if (at >= op.start && at + rows <= op.start + op.rows) taken.push_back(rows);
      else if (at + rows <= op.start) start += own_rows(rows);
      at += rows;
    }
    if (sum_of(taken) != op.rows) refuse(x, "an op takes a part of a batch");
    put_rows(x.out[0], slice_rows(from.value, start, own_rows(taken)), taken);
  }

  // The zeros beside a slice's gradient may cover several batches at once.
  Segments like(int64_t rows, int64_t batch) const {
    if (rows % batch != 0) return {rows};
    return Segments(static_cast<size_t>(rows / batch), batch);
  }
  void join(const Node& x) {
    const int64_t batch = segments_of(x, [](size_t) { return true; }).front();
    Segments segments;
    std::vector<Var> parts;
    for (const Id v : x.in) {
      const Segments own = is(v, Part::rows) ? part(v).segments : like(old_.shape(v).rows, batch);
      parts.push_back(rows_of(x, v, own));
      segments.insert(segments.end(), own.begin(), own.end());
    }
    put_rows(x.out[0], concat_rows(parts), segments);
  }

  // ---- sums over rows ---------------------------------------------------------------------------
  // Each shard adds up its own rows. An addend belongs to the first shard; the others get zeros instead.
  void reduce(const Node& x) {
    if (scatters_all(x)) return scatter_all(x);
    const OperandSet summed = traits(x).sums;
    std::vector<Var> in;
    std::vector<Segments> segments;
    for (size_t i = 0; i < x.in.size(); ++i) {
      const Id v = x.in[i];
      const auto alike = [&](size_t k) { return summed.has(k) && old_.shape(x.in[k]).rows == old_.shape(v).rows; };
      const bool cut = v != kNone && summed.has(i);
      segments.push_back(cut ? is(v, Part::rows) ? part(v).segments : segments_of(x, alike) : Segments{});
      in.push_back(cut ? rows_of(x, v, segments[i]) : whole_of(v));
    }
    if (const auto wgrad = wgrad_of(x, segments)) return add_shards(x, *wgrad, in, segments);
    put_sums(x.out[0], each_shard([&](int s) {
               std::vector<Var> own;
               for (size_t i = 0; i < in.size(); ++i)
                 own.push_back(!segments[i].empty()               ? piece(in[i], segments[i], s)
                               : !in[i] || first_shard() + s == 0 ? in[i]
                                                                  : fill(r_, in[i].shape(), 0));
               return r_.emit1(x.op, own);
             }));
  }

  // If few rows are scattered into a large gradient, ranks exchange the rows instead of the shards' sums, and each rank
  // scatters all of them, in order. This is decided from the plan of the whole batch, so it is the same for every
  // number of ranks.
  bool scatters_all(const Node& x) const {
    if (separate_ || !std::holds_alternative<SparseWgrad>(x.op)) return false;
    int64_t numbers = 0;
    for (size_t i = 0; i < 3; ++i)
      if (x.in[i] != kNone) numbers += old_.shape(x.in[i]).count();
    return numbers < old_.shape(x.out[0]).count();
  }
  void scatter_all(const Node& x) {
    std::vector<Id> open;
    for (size_t i = 0; i < 3; ++i)
      if (is(x.in[i], Part::rows) && all_rows_.count(x.in[i]) == 0) open.push_back(x.in[i]);
    for (const DType type : {DType::real, DType::index}) {
      std::vector<Id> alike;
      std::copy_if(open.begin(), open.end(), std::back_inserter(alike), [&](Id v) { return old_[v].dtype == type; });
      if (!alike.empty()) exchange_rows(alike);
    }
    std::vector<Var> in;
    for (const Id v : x.in) in.push_back(is(v, Part::rows) ? all_rows_.at(v) : whole_of(v));
    put(x.out[0], {.value = r_.emit1(x.op, in)});
  }
  // All ranks' rows of some values of one type, in one exchange.
  void exchange_rows(const std::vector<Id>& values) {
    if (cut_.ranks == 1) {
      for (const Id v : values) all_rows_[v] = part(v).value;
      return;
    }
    std::vector<int64_t> count(static_cast<size_t>(cut_.ranks));
    for (int rank = 0; rank < cut_.ranks; ++rank)
      for (const Id v : values)
        for (const int64_t s : part(v).segments)
          count[static_cast<size_t>(rank)] += rows_of_rank(s, rank) * old_.shape(v).cols;
    std::vector<Var> own;
    for (const Id v : values) own.push_back(flattened(part(v).value));
    Var sent = concat_cols(own);
    // all ranks send the same amount: a rank with a row less sends its first numbers again
    if (const int64_t more = *std::max_element(count.begin(), count.end()) - sent.cols(); more > 0)
      sent = concat_cols({sent, slice_cols(sent, 0, more)});
    const Var all = gathered(sent);
    std::vector<int64_t> at(static_cast<size_t>(cut_.ranks));
    for (const Id v : values) {
      std::vector<Var> pieces;
      const int64_t cols = old_.shape(v).cols;
      for (const int64_t s : part(v).segments)
        for (int rank = 0; rank < cut_.ranks; ++rank) {
          const int64_t n = rows_of_rank(s, rank);
          int64_t& from = at[static_cast<size_t>(rank)];
          pieces.push_back(reshape(slice_cols(slice_rows(all, rank, 1), from, n * cols), {n, cols}));
          from += n * cols;
        }
      all_rows_[v] = concat_rows(pieces);
    }
  }

  // The op that adds up the shards of a weight's gradient; none: another op, or shards must stay separate.
  std::optional<ShardedWgrad> wgrad_of(const Node& x, const std::vector<Segments>& segments) const {
    if (separate_ || cut_.apart) return {};
    ShardedWgrad op{0, false, units_, cut_.shards, first_shard(), own_shards()};
    if (const auto* m = std::get_if<Matmul>(&x.op)) {
      op.addend = m->addend, op.factors = m->factors;
      for (int p = 0; p < m->pairs; ++p) op.pairs += static_cast<int>(segments[static_cast<size_t>(2 * p)].size());
      return op;
    }
    const auto* b = std::get_if<BlockMatmul>(&x.op);
    if (b == nullptr || segments[0].size() != 1) return {};
    op.pairs = 1, op.blocks = b->blocks, op.factors = b->factors;
    return op;
  }
  void add_shards(const Node& x, const ShardedWgrad& all, const std::vector<Var>& in,
                  const std::vector<Segments>& segments) {
    const auto some = [&](int first, int count) {  // of this rank's shards
      ShardedWgrad op = all;
      op.first += first, op.count = count;
      op.addend = all.addend && op.first == 0;
      std::vector<Var> pairs;
      for (size_t i = 0; i + 1 < in.size(); i += 2) {
        int64_t start = 0;
        for (const int64_t rows : segments[i]) {
          const int64_t from = begin(rows, op.first), n = begin(rows, op.first + count) - from;
          for (const size_t k : {i, i + 1}) pairs.push_back(slice_rows(in[k], start + from - own_begin(rows), n));
          start += own_rows(rows);
        }
      }
      if (op.addend) pairs.push_back(in.back());
      return r_.emit1(op, pairs);
    };
    Part p{.kind = Part::sums, .added = true};
    if (adds_its_shards()) p.by_shard = {some(0, own_shards())};
    else p.by_shard = each_shard([&](int s) { return some(s, 1); });
    put(x.out[0], std::move(p));
  }

  // ---- updates that ranks share -------------------------------------------------------------------
  StateStretch share_of(int rank, int64_t count) const {
    const int64_t each = shared_->part(count);
    return {rank * each, owned_by(count, each, rank)};
  }
  Var own_share(Var flat) const {
    const StateStretch own = share_of(cut_.rank, flat.cols());
    return slice_cols(flat, own.start, own.count);
  }
  // This rank's share of a set's gradient, summed over all ranks.
  Var own_gradient(const Node& adam) {
    const int64_t count = old_.shape(adam.in[3]).cols;
    const StateStretch own = share_of(cut_.rank, count);
    std::vector<Var> sent;
    for (const SharedUpdates::Piece& p : shared_->gradient(adam)) {
      if (is(p.value, Part::rows)) refuse(adam, "a value of every row is needed as a whole");
      std::vector<Var> shards{part(p.value).value};
      if (is(p.value, Part::sums)) shards = part(p.value).by_shard;
      for (Var& s : shards) s = flattened(s);  // as total() adds them
      sent.push_back(added(shards));
    }
    const Var sum =
        r_.emit(ReduceParts{cut_.wires, cut_.ranks, cut_.rank, shared_->part(count)}, {order(), concat_cols(sent)})[1];
    // pieces that every rank has whole are not summed
    std::vector<Var> pieces;
    int64_t summed = 0;  // numbers of `sum` taken so far
    for (size_t i = 0; i < sent.size(); ++i) {
      const SharedUpdates::Piece& p = shared_->gradient(adam)[i];
      const int64_t from = std::max(p.start, own.start) - own.start,
                    end = std::min(p.start + sent[i].cols(), own.start + own.count) - own.start;
      if (from >= end || is(p.value, Part::sums)) continue;
      if (from > summed) pieces.push_back(slice_cols(sum, summed, from - summed));
      pieces.push_back(slice_cols(sent[i], own.start + from - p.start, end - from));
      summed = end;
    }
    if (summed < own.count) pieces.push_back(slice_cols(sum, summed, own.count - summed));
    return concat_cols(pieces);
  }
  void share_update(const Node& x) {
    const Var weights = part(x.in[0]).value;
    std::vector<Var> waits;
    for (size_t i = 4; i < x.in.size(); ++i) waits.push_back(whole_of(x.in[i]));
    std::vector<Var> in{own_share(weights), part(x.in[1]).value, part(x.in[2]).value, own_gradient(x)};
    in.insert(in.end(), waits.begin(), waits.end());
    const std::vector<Var> own = r_.emit(x.op, in);
    std::vector<Var> parts{order()};
    for (int r = 0; r < cut_.ranks; ++r) {
      const StateStretch theirs = share_of(r, weights.cols());
      parts.push_back(r == cut_.rank ? own[0] : slice_cols(weights, theirs.start, theirs.count));
    }
    const std::vector<Var> all = r_.emit(GatherParts{cut_.wires, cut_.ranks, cut_.rank}, parts);
    put(x.out[0], {.value = concat_cols({all.begin() + 1, all.end()})});
    for (const size_t moment : {size_t{1}, size_t{2}}) put(x.out[moment], {.value = own[moment]});
  }
  void share_average(const Node& x) {
    put(x.out[0], {.value = r_.emit1(x.op, {part(x.in[0]).value, own_share(whole_of(x.in[1]))})});
  }

  // ---- batch norm -------------------------------------------------------------------------------
  // The segments that each group of rows consists of, and where this rank's rows of it begin.
  struct Group {
    Segments segments;
    Var x, d_y;
    int64_t rows;  // of the whole batch
  };
  std::vector<Group> groups_of(const Node& x, int64_t groups, Id d_y) {
    const Segments segments = segments_of(x, [](size_t i) { return i == 0 || i == 5; });
    const Var own = rows_of(x, x.in[0], segments), d = d_y == kNone ? Var{} : rows_of(x, d_y, segments);
    const int64_t each = old_.shape(x.in[0]).rows / groups;
    std::vector<Group> out;
    int64_t start = 0;
    for (size_t at = 0; at < segments.size();) {
      Group g{{}, {}, {}, each};
      while (at < segments.size() && sum_of(g.segments) < each) g.segments.push_back(segments[at++]);
      if (sum_of(g.segments) != each) refuse(x, "a group of rows is a part of a batch");
      const int64_t rows = own_rows(g.segments);
      g.x = slice_rows(own, start, rows);
      if (d) g.d_y = slice_rows(d, start, rows);
      start += rows;
      out.push_back(g);
    }
    return out;
  }
  // Σ over each group's rows, for all groups in one exchange. `op`: an op that adds the shards of a group itself;
  // `rows`: the rows to sum otherwise, on a device or if a shard's rows of a group are not contiguous.
  std::vector<Var> sums_over(const std::vector<Group>& groups, const BatchNormSums& op,
                             const std::function<std::vector<Var>(size_t)>& inputs,
                             const std::function<Var(size_t)>& rows) {
    std::vector<std::vector<Var>> sums;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (!fuses(groups[g])) {
        const Var own = rows(g);
        sums.push_back(each_shard([&](int s) { return sum_rows(piece(own, groups[g].segments, s), op.scale); }));
        continue;
      }
      const auto some = [&](int first, int count) {
        BatchNormSums own = op;
        own.first = first_shard() + first, own.count = count;
        std::vector<Var> in = inputs(g);
        const int64_t each = groups[g].rows, from = begin(each, own.first), n = begin(each, own.first + count) - from;
        for (const size_t k : {size_t{0}, size_t{5}})
          if (k < in.size()) in[k] = slice_rows(in[k], from - own_begin(each), n);
        return r_.emit1(own, in);
      };
      sums.push_back(adds_its_shards() ? std::vector<Var>{some(0, own_shards())}
                                       : each_shard([&](int s) { return some(s, 1); }));
    }
    return total(sums);
  }
  bool fuses(const Group& g) const { return !cut_.apart && g.segments.size() == 1; }
  BatchNormSums sums_op(BatchNormSums::Form form, double scale) const {
    return {form, scale, 0, false, units_, cut_.shards, 0, 0};
  }

  // A micro-batch is normalised by itself. Other readers of the statistics read their mean over all micro-batches.
  void normalize_separately(const Node& x) {
    const Segments segments = segments_of(x, [](size_t i) { return i == 0 || i == 5; });
    const bool gradient = std::holds_alternative<BatchNormGrad>(x.op);
    std::vector<Var> in;
    for (size_t i = 0; i < x.in.size(); ++i)
      in.push_back(i == 0 || i == 5                 ? rows_of(x, x.in[i], segments)
                   : gradient && (i == 3 || i == 4) ? statistics_.at(x.in[i])
                                                    : whole_of(x.in[i]));
    const std::vector<Var> out = r_.emit(x.op, in);
    put_rows(x.out[0], out[0], segments);
    const double share = static_cast<double>(own_rows(segments)) / static_cast<double>(sum_of(segments));
    for (size_t k = 1; k < out.size(); ++k) {
      if (!gradient) statistics_[x.out[k]] = out[k];
      put_sums(x.out[k], {gradient ? out[k] : share * out[k]});
    }
  }

  void normalise(const Node& x, const BatchNorm& op) {
    if (separate_) return normalize_separately(x);
    const std::vector<Group> groups = groups_of(x, op.groups, kNone);
    const Var gamma = whole_of(x.in[1]), beta = whole_of(x.in[2]);
    const double share = 1.0 / static_cast<double>(groups[0].rows);
    const std::vector<Var> mean = sums_over(
        groups, sums_op(BatchNormSums::mean, share), [&](size_t g) { return std::vector<Var>{groups[g].x}; },
        [&](size_t g) { return groups[g].x; });
    const std::vector<Var> var = sums_over(
        groups, sums_op(BatchNormSums::variance, share),
        [&](size_t g) {
          return std::vector<Var>{groups[g].x, mean[g]};
        },
        [&](size_t g) { return square(groups[g].x - mean[g]); });
    std::vector<Var> y;
    for (size_t g = 0; g < groups.size(); ++g)
      y.push_back(r_.emit1(NormEval{op.eps, op.relu}, {groups[g].x, gamma, beta, mean[g], var[g]}));
    put_rows(x.out[0], concat_rows(y), part(x.in[0]).segments);
    put(x.out[1], {.value = concat_rows(mean)});
    put(x.out[2], {.value = concat_rows(var)});
  }

  // d_x = (d − mean(d) − x̂·mean(d·x̂))·rstd·gamma, where means are over a group's rows and d is the gradient after the
  // ReLU's mask.
  void normalise_grad(const Node& x, const BatchNormGrad& op) {
    if (separate_) return normalize_separately(x);
    const std::vector<Group> groups = groups_of(x, op.groups, x.in[5]);
    const Var gamma = whole_of(x.in[1]), beta = whole_of(x.in[2]), mean = whole_of(x.in[3]), var = whole_of(x.in[4]);
    const auto of_group = [&](Var statistics, size_t g) { return slice_rows(statistics, static_cast<int64_t>(g), 1); };
    const auto inputs = [&](size_t g) {
      return std::vector<Var>{groups[g].x, gamma, beta, of_group(mean, g), of_group(var, g), groups[g].d_y};
    };
    std::vector<Var> rstd(groups.size()), normal(groups.size()), d(groups.size());
    BatchNormSums sums = sums_op(BatchNormSums::gradient, 1);
    sums.eps = op.eps, sums.relu = op.relu;
    const std::vector<Var> both = sums_over(groups, sums, inputs, [&](size_t g) {
      rstd[g] = rsqrt(of_group(var, g) + op.eps);
      normal[g] = (groups[g].x - of_group(mean, g)) * rstd[g];
      d[g] = op.relu ? gate(groups[g].d_y, normal[g] * gamma + beta, 0) : groups[g].d_y;
      return concat_cols({d[g], d[g] * normal[g]});
    });
    const int64_t cols = gamma.cols();
    const double share = 1.0 / static_cast<double>(groups[0].rows);
    std::vector<Var> d_x;
    Var d_gamma, d_beta;
    for (size_t g = 0; g < groups.size(); ++g) {
      const Var b = slice_cols(both[g], 0, cols), a = slice_cols(both[g], cols, cols);
      d_beta = d_beta ? d_beta + b : b;
      d_gamma = d_gamma ? d_gamma + a : a;
      if (fuses(groups[g])) {
        std::vector<Var> in = inputs(g);
        in.push_back(both[g]);
        d_x.push_back(r_.emit1(BatchNormRowsGrad{op.eps, share, op.relu}, in));
      } else d_x.push_back((d[g] - share * b - normal[g] * (share * a)) * (rstd[g] * gamma));
    }
    put_rows(x.out[0], concat_rows(d_x), segments_of(x, [](size_t i) { return i == 0 || i == 5; }));
    put(x.out[1], {.value = d_gamma});
    put(x.out[2], {.value = d_beta});
  }

  // ---- sequences --------------------------------------------------------------------------------
  // In a tensor stored tile by tile, each tile of sequences has the same number of rows.
  void sequences(const Node& x) {
    const Traits t = traits(x);
    const int64_t count =
        std::holds_alternative<RecurrentWgrad>(x.op) ? old_.shape(x.in[0]).rows : sequences_of(old_, x);
    const auto tile_rows = [&](Id v) { return old_.shape(v).rows / sequence_tiles(count); };
    // each segment in tiles
    Segments tiles;
    for (size_t i = 0; i < x.in.size() && tiles.empty(); ++i) {
      if (!is(x.in[i], Part::rows) || !t.tiles.inputs.has(i)) continue;
      const int64_t each = t.tiles.tiled_in.has(i) ? tile_rows(x.in[i]) : kSequenceTile;
      for (const int64_t rows : part(x.in[i]).segments) tiles.push_back(rows / each);
    }
    const auto segmented = [&](int64_t each) {
      Segments out;
      for (const int64_t n : tiles) out.push_back(n * each);
      return out;
    };
    std::vector<Var> in;
    for (size_t i = 0; i < x.in.size(); ++i) {
      const Id v = x.in[i];
      const bool follows = v != kNone && t.tiles.inputs.has(i);
      const bool tiled = t.tiles.tiled_in.has(i);
      in.push_back(follows ? rows_of(x, v, segmented(tiled ? tile_rows(v) : kSequenceTile)) : whole_of(v));
    }
    Op op = x.op;
    const int64_t own = own_rows(segmented(kSequenceTile));
    if (auto* g = std::get_if<RecurrentGrad>(&op)) g->sequences = own;
    if (auto* g = std::get_if<RecurrentInputGrad>(&op)) g->sequences = own;
    const std::vector<Var> out = r_.emit(op, in);
    for (size_t k = 0; k < out.size(); ++k) {
      const bool tiled = t.tiles.tiled_out.has(k) || t.tiles.shares;
      put_rows(x.out[k], out[k], segmented(tiled ? tile_rows(x.out[k]) : kSequenceTile));
    }
  }

  const int64_t units_;
  std::optional<SharedUpdates> shared_{};
  std::map<Id, Var> all_rows_{};    // of all ranks, by value of the whole plan
  bool separate_ = false;           // of a micro-batch, for which:
  std::map<Id, Var> statistics_{};  // a batch norm's own mean and variance, by value of the whole plan
};

}  // namespace tessera::batch_parts
