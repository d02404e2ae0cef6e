#include "models/dedup/documents.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/cpu/cpu_features.h"
#include "base/mixed_bits.h"
#include "engine/run/device_run.h"
#include "kernels/math/philox.h"
#include "kernels/math/text_pieces.h"
#include "models/dedup/keys.h"
#include "tables/identifiers/identifier.h"

namespace tessera::dedup {
namespace {

constexpr int64_t kMinima = kTextHashes, kSignedRows = 256;
constexpr int64_t kBatchTexts = 1 << 17, kBatchBytes = 1 << 26;  // on a device, at once

// Random factors, odd, and offsets of the hashes; the same in every run.
struct Hashes {
  uint32_t factor[kMinima], offset[kMinima];
  Hashes() {
    for (uint32_t k = 0; k < kMinima; ++k) {
      const Philox p = philox(k, 0, 0, 0, 0x6d696e68, 0x61736873);
      factor[k] = p.word[0] | 1, offset[k] = p.word[1];
    }
  }
};

}  // namespace

Documents::Documents(const Table& own, const Table* other, double threshold)
    : tables_{&own, other}, threshold_(threshold) {
  own_ = static_cast<int32_t>(own.rows);
  count_ = own_ + static_cast<int32_t>(other == nullptr ? 0 : other->rows);
}

std::string_view Documents::cell(size_t column, int32_t row) const {
  const bool mine = row < own_;
  const Column& c = tables_[mine ? 0 : 1]->columns[column];
  const int32_t code = c.codes[static_cast<size_t>(mine ? row : row - own_)];
  return code < 0 ? std::string_view() : c.values[static_cast<size_t>(code)];
}

void Documents::text(int32_t row, std::string& out) const {
  out.clear();
  for (size_t k = 0; k < tables_[0]->columns.size(); ++k) {
    if (k > 0) out += '\n';
    out += cell(k, row);
  }
}

bool Documents::cell_equal(size_t column, int32_t a, int32_t b) const { return cell(column, a) == cell(column, b); }

bool Documents::equal(int32_t a, int32_t b) const {
  for (size_t k = 0; k < tables_[0]->columns.size(); ++k)
    if (!cell_equal(k, a, b)) return false;
  return true;
}

uint64_t Documents::hash(int32_t row) const {
  uint64_t h = 0;
  for (size_t k = 0; k < tables_[0]->columns.size(); ++k) h = hash_with(h, fingerprint_of(cell(k, row)));
  return h;
}

void Documents::hash_pieces(int32_t row, std::vector<uint32_t>& out) const {
  std::string bytes;
  text(row, bytes);
  out.resize(static_cast<size_t>(pieces_of(static_cast<int64_t>(bytes.size()))));
  bytes.append(sizeof(uint64_t), '\0');  // so that a piece is read at once
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t piece;
    std::memcpy(&piece, bytes.data() + i, sizeof piece);
    out[i] = hash_of_piece(piece);
  }
}

Documents::Pieces Documents::pieces(int32_t row) const {
  Pieces out;
  hash_pieces(row, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double Documents::similarity(const Pieces& a, const Pieces& b) {
  size_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t x = a[i], y = b[j];
    both += x == y, i += x <= y, j += y <= x;
  }
  return static_cast<double>(both) / static_cast<double>(a.size() + b.size() - both);
}

bool Documents::near(const Pieces& a, const Pieces& b) const {
  const auto sizes = std::minmax(a.size(), b.size());
  if (static_cast<double>(sizes.first) < threshold_ * static_cast<double>(sizes.second)) return false;
  return similarity(a, b) >= threshold_;
}

BandSize band_size(double threshold) {
  for (int64_t minima = kMinima;; --minima) {
    const int64_t keys = kMinima / minima;
    const double missed = std::pow(1 - std::pow(threshold, static_cast<double>(minima)), static_cast<double>(keys));
    if (1 - missed >= kRecall || minima == 1) return {minima, 1 - missed};
  }
}

namespace {

// Compares the texts of one key.
class Bucket {
 public:
  Bucket(const Documents& documents, Groups& groups, KeySearch& result)
      : documents_(documents), groups_(groups), result_(result) {}

  void compare(const RowKey* first, const RowKey* last) {
    const bool against = documents_.own()<documents_.count(), crowded = last - first> kBucket;
    const RowKey* const own =
        std::lower_bound(first, last, documents_.own(), [](const RowKey& k, int32_t row) { return k.row < row; });
    if (own == first || (against && own == last)) return;
    if (crowded) ++result_.crowded, result_.crowded_rows += last - first;
    pieces_.assign(crowded ? 0 : static_cast<size_t>(last - first), {});
    for (const RowKey* a = first; a != own; ++a) {
      const RowKey* const next = against ? own : a + 1;
      for (const RowKey* b = next; b != (crowded ? std::min(next + kNeighbors, last) : last); ++b) link(first, a, b);
      if (crowded && !against && a != first) link(first, first, a);
    }
  }

 private:
  void link(const RowKey* first, const RowKey* a, const RowKey* b) {
    ++result_.pairs;
    if (groups_.linked(a->row, b->row)) return;
    if (pieces_.empty() ? documents_.near(a->row, b->row) : documents_.near(of(first, a), of(first, b)))
      groups_.link(a->row, b->row);
  }
  const Documents::Pieces& of(const RowKey* first, const RowKey* k) {
    Documents::Pieces& p = pieces_[static_cast<size_t>(k - first)];
    if (p.empty()) p = documents_.pieces(k->row);
    return p;
  }

  const Documents& documents_;
  Groups& groups_;
  KeySearch& result_;
  std::vector<Documents::Pieces> pieces_;
};

// Calls minima(i, lowest) for each text of `some`, from several threads.
template <class Minima>
void sign_texts(const Documents& documents, const RowList& some, const quality::Workers& workers, Minima&& minima) {
  static const Hashes hashes;
  const auto rows = static_cast<int64_t>(some.size());
  workers.for_each("texts", "rows", (rows + kSignedRows - 1) / kSignedRows, kSignedRows, [&](int64_t piece) {
    std::vector<uint32_t> pieces;
    uint32_t lowest[kMinima];
    for (int64_t i = piece * kSignedRows; i < std::min(rows, (piece + 1) * kSignedRows); ++i) {
      documents.hash_pieces(some[static_cast<size_t>(i)], pieces);
      array_kernels().min_hashes(pieces.data(), static_cast<int64_t>(pieces.size()), hashes.factor, hashes.offset,
                                 kMinima, lowest);
      minima(i, lowest);
    }
  });
}

// The same on a device, batch after batch.
template <class Minima>
void sign_texts(const Documents& documents, const RowList& some, Device& device, const quality::Workers& workers,
                Minima&& minima) {
  const Hashes hashes;
  DeviceArray<uint32_t> functions(device, 2 * kMinima, "hashes of texts");
  std::copy_n(hashes.factor, kMinima, functions.here.begin());
  std::copy_n(hashes.offset, kMinima, functions.here.begin() + kMinima);
  functions.upload();
  const auto rows = static_cast<int64_t>(some.size());
  const int64_t batch = std::min(rows, kBatchTexts);
  DeviceArray<int64_t> begin(device, batch + 1, "texts");
  DeviceArray<uint32_t> lowest(device, batch * kMinima, "hashes of texts");
  std::optional<DeviceBytes> on_device;
  std::string bytes, text;
  for (int64_t first = 0, last = 0; first < rows; first = last) {
    if (workers.monitor.cancelled()) workers.monitor.check_cancelled(workers.phase);
    workers.monitor.report(
        {workers.phase, static_cast<double>(first), static_cast<double>(rows), "rows", "texts", false});
    bytes.clear();
    for (; last < rows && last - first < batch && static_cast<int64_t>(bytes.size()) < kBatchBytes; ++last) {
      begin.here[static_cast<size_t>(last - first)] = static_cast<int64_t>(bytes.size());
      documents.text(some[static_cast<size_t>(last)], text);
      bytes += text;
    }
    begin.here[static_cast<size_t>(last - first)] = static_cast<int64_t>(bytes.size());
    const auto size = static_cast<int64_t>(bytes.size());
    if (!on_device || on_device->bytes() < size) on_device.emplace(device, std::max(size, kPieceBytes), "texts");
    begin.upload();
    device.check(device.api().upload(device.session(), on_device->data(), bytes.data(), size));
    device.check(device.api().min_hashes(
        device.session(), {last - first, reinterpret_cast<const uint8_t*>(on_device->data()), begin.on_device(),
                           functions.on_device(), functions.on_device() + kMinima, lowest.on_device()}));
    lowest.download();
    workers.team.for_each(last - first, [&](int64_t i) { minima(first + i, lowest.here.data() + i * kMinima); });
  }
}

}  // namespace

KeySearch find_near_documents(const Documents& documents, const RowList& some, Groups& groups,
                              const quality::Workers& workers) {
  const BandSize band = band_size(documents.threshold());
  const int64_t bands = kMinima / band.minima, rows = static_cast<int64_t>(some.size());
  const auto& limit = workers.team.limit();
  Bulk<uint64_t> key(limit, "keys of texts");
  key.resize_for_overwrite(static_cast<size_t>(bands * rows));
  const auto set_keys = [&](int64_t i, const uint32_t* lowest) {
    for (int64_t j = 0; j < bands; ++j) {
      uint64_t h = static_cast<uint64_t>(j);
      for (int64_t k = j * band.minima; k < (j + 1) * band.minima; ++k) h = hash_with(h, lowest[k]);
      key[static_cast<size_t>(j * rows + i)] = h;
    }
  };
  if (workers.device != nullptr) sign_texts(documents, some, *workers.device, workers, set_keys);
  else sign_texts(documents, some, workers, set_keys);
  std::vector<KeySearch> found(static_cast<size_t>(bands));
  workers.for_each("near copies", "keys", bands, 1, [&](int64_t j) {
    RowKeys keys(limit, "keys of texts"), scratch = keys.empty_like();
    keys.reserve(some.size());
    for (int64_t i = 0; i < rows; ++i)
      keys.push_back({key[static_cast<size_t>(j * rows + i)], some[static_cast<size_t>(i)]});
    sort_keys(keys, scratch);
    scratch.release();
    Bucket bucket(documents, groups, found[static_cast<size_t>(j)]);
    each_run(keys.data(), keys.data() + keys.size(),
             [&](const RowKey* first, const RowKey* last) { bucket.compare(first, last); });
  });
  KeySearch all;
  all.recall = band.recall;
  for (const KeySearch& f : found)
    all.pairs += f.pairs, all.crowded += f.crowded, all.crowded_rows = std::max(all.crowded_rows, f.crowded_rows);
  return all;
}

}  // namespace tessera::dedup
