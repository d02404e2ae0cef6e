// ld, st, ldmatrix and cp.async: each lane's address is looked up and checked (its space, its bounds, its alignment)
// before a byte moves. mapa, barrier.cluster: shared memory of other blocks of the cluster. griddepcontrol: from when
// on addresses of global memory are allowed to all but volatile loads.
#include <cstring>

#include "emulation/mma.h"
#include "ptx/machine/warp.h"

namespace tessera::ptx {

using emulation::Region;

// What an address counts from, and how far apart the lanes' own memories are.
struct Warp::Memory {
  char* begin = nullptr;
  uint64_t first = 0, end = 0;  // addresses
  size_t step = 0;
};

// The memory that holds `bytes` at both addresses and so at all between them; begin == nullptr: none does.
Warp::Memory Warp::memory_of(Space space, uint64_t low, uint64_t high, size_t bytes) {
  Memory m;
  const Module& module = launch_->module;
  switch (space) {
    case Space::parameter: m = {const_cast<char*>(launch_->parameters), 0, launch_->kernel.parameters_total, 0}; break;
    case Space::local: m = {local_.get(), 0, module.local_bytes, module.local_bytes}; break;
    case Space::call: m = {call_.get(), 0, module.call_bytes, module.call_bytes}; break;
    case Space::cluster:
    case Space::shared: {
      const uint64_t rank = space == Space::cluster ? low >> kRankShift : 0;  // + 1; 0: this block
      if (rank != 0 && high >> kRankShift != rank) return m;
      low -= rank << kRankShift, high -= rank << kRankShift;
      char* begin = cluster_->blocks[rank == 0 ? rank_ : rank - 1].shared;
      for (const Array& a : launch_->shared) {
        if (low >= a.offset && high + bytes <= uint64_t{a.offset} + a.bytes)
          return {begin, a.offset + (rank << kRankShift), uint64_t{a.offset} + a.bytes + (rank << kRankShift), 0};
        begin += (a.bytes + 127u) / 128 * 128;
      }
      return m;
    }
    default:
      if (!is_allocated(reinterpret_cast<char*>(low), reinterpret_cast<char*>(high), bytes)) return m;
      return {reinterpret_cast<char*>(low), low, high + bytes, 0};
  }
  return high + bytes <= m.end && high + bytes >= high ? m : Memory{};
}

bool Warp::is_allocated(const char* low, const char* high, size_t bytes) {
  const bool in_rows = near_.row != near_.stride;  // between which lies what is nobody's
  if (near_.begin != nullptr && low >= near_.begin && high + bytes <= near_.end() && (!in_rows || low == high))
    return near_.holds(low, bytes);
  for (const std::vector<char>& g : launch_->module.globals)
    if (low >= g.data() && high + bytes <= g.data() + g.size()) return true;
  const Region* r = emulation::region_at_or_near(low);
  if (r == nullptr) return !launch_->strict && reinterpret_cast<uintptr_t>(low) >= 4096;
  if (!r->holds(low, bytes) || high + bytes > r->end()) return false;
  near_ = *r;
  return low == high || near_.row == near_.stride;
}

// Shared memory of other blocks of the cluster.
void Warp::reach(const Instruction& i, Mask mask, const uint64_t (&address)[kLanes]) {
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t rank = address[l] >> kRankShift;
    if ((mask >> l & 1) == 0 || rank == 0 || rank - 1 == rank_) continue;
    ClusterMemory::One& other = cluster_->blocks.at(rank - 1);
    if (cluster_->barriers == 0)
      fault(i, 1u << l, "reaches another block before the first barrier of the cluster: that block may not run yet");
    if (other.ended)
      fault(i, 1u << l, "reaches block " + std::to_string(rank - 1) + " of its cluster, which has ended");
    other.reached = cluster_->barriers;
  }
}

// All lanes at once where their addresses are in one memory; else one by one.
void Warp::resolve(const Instruction& i, int operand, int64_t offset, Space space, Mask mask, size_t bytes,
                   char* (&at)[kLanes]) {
  uint64_t address[kLanes];
  if (i.width[operand] == 4) {
    const uint32_t* a = lanes<const uint32_t>(i.operand[operand]);
    for (int l = 0; l < kLanes; ++l) address[l] = static_cast<uint32_t>(a[l] + static_cast<uint32_t>(offset));
  } else {
    const uint64_t* a = lanes<const uint64_t>(i.operand[operand]);
    for (int l = 0; l < kLanes; ++l) address[l] = a[l] + static_cast<uint64_t>(offset);
  }
  // What the launch before writes, nothing but the text's order can tell; but whatever an earlier one wrote may be
  // older in the first-level cache, past which volatile loads go.
  for (Mask before = i.is_volatile ? 0 : mask & ~waited_; before != 0; before &= before - 1)
    if (const int l = __builtin_ctz(before);
        space == Space::global || (space == Space::generic && space_of(address[l]) == Space::global))
      fault(i, 1u << l, "global memory before griddepcontrol.wait in an early launch");
  const uint64_t one = address[__builtin_ctz(mask)];
  if (mask != kAll)
    for (int l = 0; l < kLanes; ++l) address[l] = (mask >> l & 1) != 0 ? address[l] : one;
  uint64_t low = one, high = one, bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    low = address[l] < low ? address[l] : low;
    high = address[l] > high ? address[l] : high;
    bits |= address[l];
  }
  if (space == Space::cluster) reach(i, mask, address);
  if ((bits & (bytes - 1)) != 0)
    fault(i, mask, "an access of " + std::to_string(bytes) + " bytes at an address that is not a multiple of them");
  // An address of a space may carry the space's mark too: nvcc does not always convert those of parameters.
  const auto place = [&](uint64_t from, uint64_t to, Space& s) {
    s = space == Space::generic ? space_of(from) : space;
    const uint64_t plain = s == Space::global ? ~uint64_t{0} : ~(uint64_t{0xFF} << 56);
    return s == (space == Space::generic ? space_of(to) : space) ? memory_of(s, from & plain, to & plain, bytes)
                                                                 : Memory{};
  };
  Space s = space;
  Memory m = place(low, high, s);
  const bool together = m.begin != nullptr;
  for (size_t l = 0; l < kLanes; ++l) {
    if (!together && (mask >> l & 1) == 0) continue;
    if (!together) m = place(address[l], address[l], s);
    if (m.begin == nullptr)
      fault(i, 1u << l,
            std::to_string(bytes) + " bytes at " + std::to_string(address[l]) +
                ", which are in no memory that is there, or beyond its end");
    const uint64_t plain = s == Space::global ? address[l] : address[l] & ~(uint64_t{0xFF} << 56);
    at[l] = m.begin + l * m.step + (plain - m.first);
  }
}

namespace {

// Element e of an access goes to or comes from operand e; a register may be wider than the element (its rest is filled
// with the sign of T, or zeros).
template <class T>
void put(Warp& w, const Instruction& i, Mask mask, int element, char* const (&at)[kLanes]) {
  const size_t width = i.width[element], offset = static_cast<size_t>(element) * sizeof(T);
  char* d = w.lanes<char>(i.operand[element]);
  if (mask == kAll && width == sizeof(T)) {
    for (size_t l = 0; l < kLanes; ++l) std::memcpy(d + l * sizeof(T), at[l] + offset, sizeof(T));
    return;
  }
  for (size_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    T x;
    std::memcpy(&x, at[l] + offset, sizeof x);
    if (width == sizeof x) {
      std::memcpy(d + l * sizeof x, &x, sizeof x);
    } else {
      const std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> filled = x;
      std::memcpy(d + l * width, &filled, width);
    }
  }
}
template <class T>
void load(Warp& w, const Instruction& i, Mask mask) {
  char* at[kLanes];
  w.resolve(i, i.count, i.offset, i.space, mask, sizeof(T) * i.count, at);
  for (int e = 0; e < i.count; ++e)
    if (i.operand[e] != kNowhere) put<T>(w, i, mask, e, at);
}
template <class T>
void save(Warp& w, const Instruction& i, Mask mask) {
  char* at[kLanes];
  w.resolve(i, i.count, i.offset, i.space, mask, sizeof(T) * i.count, at);
  for (int e = 0; e < i.count; ++e) {
    const size_t width = i.width[e], offset = static_cast<size_t>(e) * sizeof(T);
    const char* s = w.lanes<const char>(i.operand[e]);
    for (size_t l = 0; l < kLanes; ++l)
      if ((mask >> l & 1) != 0) std::memcpy(at[l] + offset, s + l * width, sizeof(T));
  }
}

// cp.async.ca|cg.shared.global [to], [from], bytes, bytes of the source: zeros after those.
void copy(Warp& w, const Instruction& i, Mask mask) {
  const uint32_t* bytes = w.lanes<const uint32_t>(i.operand[2]);
  const uint32_t* read = w.lanes<const uint32_t>(i.operand[3]);
  const size_t size = bytes[0];
  char *to[kLanes], *from[kLanes] = {};
  w.resolve(i, 0, i.offset, Space::shared, mask, size, to);
  for (uint32_t some = 4; some <= size; some += 4) {
    Mask reading = 0;
    for (int l = 0; l < kLanes; ++l) reading |= static_cast<Mask>((mask >> l & 1) != 0 && read[l] == some) << l;
    if (reading == 0) continue;
    char* at[kLanes];
    w.resolve(i, 1, i.source_offset + some - 4, Space::global, reading, 4, at);
    w.resolve(i, 1, i.source_offset, Space::global, reading, 4, at);
    for (int l = 0; l < kLanes; ++l) {
      if ((reading >> l & 1) == 0) continue;
      from[l] = at[l];
      if (reinterpret_cast<uintptr_t>(at[l]) % size != 0)
        w.fault(i, 1u << l,
                "a copy of " + std::to_string(size) + " bytes from an address that is not a multiple of them");
    }
  }
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1) != 0)
      w.copies(l).add(to[l], from[l], static_cast<int>(size), static_cast<int>(read[l]), {"ptx", i.line});
}
void commit(Warp& w, const Instruction&, Mask mask) {
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1) != 0) w.copies(l).commit();
}
void wait(Warp& w, const Instruction& i, Mask mask) {
  const int pending = static_cast<int>(w.lanes<const uint32_t>(i.operand[0])[0]);
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1) != 0) w.copies(l).wait(pending);
}

void wait_for_launch_before(Warp& w, const Instruction&, Mask mask) { w.waited() |= mask; }
void let_next_launch_begin(Warp& w, const Instruction& i, Mask mask) {
  if (const Mask wrong = mask & ~w.waited(); wrong != 0)
    w.fault(i, wrong, "lets the next launch begin before it waited for the one before");
}

// mapa.shared::cluster.u32 address in that block, address in this one, its rank.
void in_block(Warp& w, const Instruction& i, Mask mask) {
  uint32_t* to = w.lanes<uint32_t>(i.operand[0]);
  const uint32_t *own = w.lanes<const uint32_t>(i.operand[1]), *rank = w.lanes<const uint32_t>(i.operand[2]);
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    if (rank[l] >= w.blocks_of_cluster())
      w.fault(i, 1u << l,
              "names block " + std::to_string(rank[l]) + " of a cluster of " + std::to_string(w.blocks_of_cluster()));
    to[l] = (own[l] & ((1u << kRankShift) - 1)) | (rank[l] + 1) << kRankShift;
  }
}
void arrive_at_cluster(Warp& w, const Instruction& i, Mask mask) {
  if ((w.arrived() & mask) != 0) w.fault(i, mask & w.arrived(), "arrives twice at one barrier of its cluster");
  w.arrived() |= mask;
}
void passed(Warp&, const Instruction&, Mask) {}

// ldmatrix.x4 {d0, d1, d2, d3}, [line]: what tests/emulation/mma.h says of its lines.
void load_matrices(Warp& w, const Instruction& i, Mask mask) {
  if (mask != kAll) w.fault(i, mask, "ldmatrix by a part of the warp");
  char* lines[kLanes];
  w.resolve(i, i.count, i.offset, i.space, mask, 16, lines);
  for (int m = 0; m < i.count; ++m)
    for (int l = 0; l < kLanes; ++l) w.lanes<uint32_t>(i.operand[m])[l] = emulation::matrix_pair(lines, m, l);
}

}  // namespace

int bytes_of(const std::string& type) {
  static const std::map<std::string, int> all = {
      {"pred", 0}, {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2}, {"bf16", 2},
      {"b32", 4},  {"u32", 4}, {"s32", 4}, {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
  const auto at = all.find(type);
  return at == all.end() ? -1 : at->second;
}

Handler access(bool store, const std::string& type) {
  switch (bytes_of(type) * (type[0] == 's' ? -1 : 1)) {
    case 1: return store ? save<uint8_t> : load<uint8_t>;
    case 2: return store ? save<uint16_t> : load<uint16_t>;
    case 4: return store ? save<uint32_t> : load<uint32_t>;
    case 8: return store ? save<uint64_t> : load<uint64_t>;
    case -1: return store ? save<int8_t> : load<int8_t>;
    case -2: return store ? save<int16_t> : load<int16_t>;
    case -4: return store ? save<int32_t> : load<int32_t>;
    case -8: return store ? save<int64_t> : load<int64_t>;
    default: return nullptr;
  }
}

Handler matrices(const std::string& opcode) {
  return opcode == "ldmatrix.sync.aligned.m8n8.x4.shared.b16" ? load_matrices : nullptr;
}

Handler of_cluster(const std::string& opcode) {
  if (opcode == "mapa.shared::cluster.u32") return in_block;
  if (opcode == "barrier.cluster.arrive.release.aligned") return arrive_at_cluster;
  return opcode == "barrier.cluster.wait.acquire.aligned" ? passed : nullptr;
}

Handler asynchronous(const std::string& opcode) {
  if (opcode == "cp.async.ca.shared.global" || opcode == "cp.async.cg.shared.global") return copy;
  if (opcode == "cp.async.commit_group") return commit;
  if (opcode == "griddepcontrol.wait") return wait_for_launch_before;
  if (opcode == "griddepcontrol.launch_dependents") return let_next_launch_begin;
  return opcode == "cp.async.wait_group" ? wait : nullptr;
}

}  // namespace tessera::ptx
