// What of a column's code is linear in the step before, earlier columns and statics.
#pragma once
#include "tables/sequence/step_survey.h"

namespace tessera {

// Adds the terms that leave less of a level or difference; of a difference with few values, which terms would smear,
// those of the level. `first`: of first steps, which windows have anywhere.
void add_terms(const StepSurvey& survey, size_t j, bool first, StepCoding::Code& code);

}  // namespace tessera
