// Chooses the next tile of a thread, without locks. Each thread owns a share of every phase, the same slice of each op,
// so that its inputs are in its own caches; once its share is done it steals from the others. The thread that finishes
// the last tile of a phase opens the next one: no thread waits for a thread without a tile, so on a busy machine the
// team continues with the threads that are scheduled.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace tessera {

class Dispatcher {
 public:
  Dispatcher(uint64_t first, int threads) : claims_(static_cast<size_t>(threads)), epoch_(first) {
    for (Claim& c : claims_) c.next.store(first << kTileBits);
  }

  // Takes a tile of an open phase, whose shares are shares(epoch), for `thread`; waits if none is left. False: the run
  // has ended.
  struct Taken {
    uint64_t epoch;
    int64_t tile;
  };
  template <class Shares>
  bool take(int thread, Shares&& shares, Taken& taken) {
    for (;;) {
      const uint64_t seen = epoch_.load(std::memory_order_acquire);
      if (stopped_.load(std::memory_order_acquire)) return false;
      for (size_t k = 0; k < claims_.size(); ++k) {
        const size_t whose = (static_cast<size_t>(thread) + k) % claims_.size();
        std::atomic<uint64_t>& next = claims_[whose].next;
        for (uint64_t c = next.load(std::memory_order_acquire);;) {
          const std::vector<int64_t>& share = shares(c >> kTileBits)[whose];
          if ((c & kTileMask) >= share.size()) break;
          if (!next.compare_exchange_weak(c, c + 1, std::memory_order_acquire)) continue;
          taken = {c >> kTileBits, share[c & kTileMask]};
          return true;
        }
      }
      wait(seen);
    }
  }

  // After a tile. True for the last of its phase: the caller then opens the next or stops.
  bool finish(int64_t tiles) { return done_.fetch_add(1, std::memory_order_acq_rel) + 1 == tiles; }
  void open(uint64_t epoch) {
    done_.store(0, std::memory_order_relaxed);
    for (Claim& c : claims_) raise(c.next, epoch << kTileBits);
    raise(epoch_, epoch);
    wake();
  }
  void stop() {
    stopped_.store(true, std::memory_order_release);
    raise(epoch_, ~uint64_t{0});
    wake();
  }

 private:
  static constexpr int kTileBits = 24;
  static constexpr uint64_t kTileMask = (1u << kTileBits) - 1;
  struct alignas(64) Claim {
    std::atomic<uint64_t> next;  // epoch, and the number of tiles taken of the share
  };

  // A short phase may be over, and the next open, before its opener has updated all claims: it keeps newer values.
  static void raise(std::atomic<uint64_t>& x, uint64_t to) {
    for (uint64_t was = x.load(std::memory_order_relaxed);
         was < to && !x.compare_exchange_weak(was, to, std::memory_order_seq_cst);) {}
  }

  void wait(uint64_t seen) {
    for (int spin = 0; spin < 2000; ++spin) {
      if (epoch_.load(std::memory_order_acquire) != seen) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    const uint32_t bell = bell_.load(std::memory_order_acquire);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (epoch_.load(std::memory_order_seq_cst) == seen) bell_.wait(bell, std::memory_order_acquire);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    bell_.fetch_add(1, std::memory_order_release);
    bell_.notify_all();
  }

  std::vector<Claim> claims_;
  alignas(64) std::atomic<uint64_t> epoch_;
  alignas(64) std::atomic<int64_t> done_{0};
  alignas(64) std::atomic<uint32_t> bell_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace tessera
