// Cells as an encoder knows them.
#pragma once
#include <vector>

#include "tables/encoding/encoder.h"
#include "tables/table/table.h"

namespace tessera {

struct KnownNumbers {
  double low, high;
};

// Replaces values of a column that the encoder does not know, by the nearest number or its first text. `head`: the
// column of its schema. unknown[i] becomes 1 for these, else 0; numbers within `known` are none of them.
void take_known(Column& c, const Column& head, const Encoder::Reach& reach, KnownNumbers known,
                std::vector<char>& unknown);

// Rows of a table that the encoder was not fitted on, each by itself; modes of numbers are drawn by this seed.
EncodedTable encode_known(const Encoder& encoder, Table&& rows, uint64_t seed, Team& team, const Monitor& monitor);

}  // namespace tessera
