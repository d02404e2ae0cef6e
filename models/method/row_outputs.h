// Outputs of a plan for rows of the encoded table.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "models/method/method.h"

namespace tessera {

// The outputs `names` of a plan, row by row, for evenly spaced rows of the table, at most `most` of them. The plan
// reads table rows from the bound leaf "row" [batch, 1]; `states` are put into it.
std::vector<std::vector<float>> outputs_of_rows(const EncodedTable& table, int64_t most, const States& states,
                                                const std::vector<std::string>& names, Purpose purpose,
                                                const RunContext& context,
                                                const std::function<void(Recorder& r, int64_t batch)>& record);

}  // namespace tessera
