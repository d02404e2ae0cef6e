// The minima of texts on a device are those of the processor, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/cpu/cpu_features.h"
#include "emulated_device.h"
#include "engine/run/device_run.h"
#include "kernels/math/text_pieces.h"

namespace tessera {
namespace {

TEST(MinHashesOnDevice, AreThoseOfTheProcessor) {
  std::mt19937 gen(5);
  Device& device = emulated_device();
  // No text, less than a piece, one piece, one more and one less than a warp has lanes; and no multiple of the texts
  // of a block.
  const std::vector<int64_t> lengths{0, 1, 4, 5, 6, 35, 36, 37, 900};
  DeviceArray<int64_t> begin(device, static_cast<int64_t>(lengths.size()) + 1, "texts");
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < lengths.size(); ++i) {
    begin.here[i] = static_cast<int64_t>(bytes.size());
    for (int64_t k = 0; k < lengths[i]; ++k) bytes.push_back(static_cast<uint8_t>(gen()));
  }
  begin.here.back() = static_cast<int64_t>(bytes.size());
  DeviceArray<uint8_t> text(device, static_cast<int64_t>(bytes.size()), "texts");
  DeviceArray<uint32_t> functions(device, 2 * kTextHashes, "hashes"),
      lowest(device, static_cast<int64_t>(lengths.size()) * kTextHashes, "minima");
  text.here = bytes;
  for (uint32_t& x : functions.here) x = static_cast<uint32_t>(gen()) | 1;
  begin.upload(), text.upload(), functions.upload();
  device.check(device.api().min_hashes(
      device.session(), {static_cast<int64_t>(lengths.size()), text.on_device(), begin.on_device(),
                         functions.on_device(), functions.on_device() + kTextHashes, lowest.on_device()}));
  lowest.download();
  for (size_t i = 0; i < lengths.size(); ++i) {
    std::vector<uint32_t> pieces;
    for (int64_t at = 0; at < pieces_of(lengths[i]); ++at) {
      uint64_t piece = 0;
      for (int64_t k = 0; k < kPieceBytes && at + k < lengths[i]; ++k)
        piece |= static_cast<uint64_t>(bytes[static_cast<size_t>(begin.here[i] + at + k)]) << (8 * k);
      pieces.push_back(hash_of_piece(piece));
    }
    uint32_t expected[kTextHashes];
    array_kernels().min_hashes(pieces.data(), static_cast<int64_t>(pieces.size()), functions.here.data(),
                               functions.here.data() + kTextHashes, kTextHashes, expected);
    EXPECT_TRUE(
        std::equal(expected, expected + kTextHashes, lowest.here.begin() + static_cast<int64_t>(i) * kTextHashes))
        << "a text of " << lengths[i] << " bytes";
  }
}

}  // namespace
}  // namespace tessera
