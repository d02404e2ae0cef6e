// The attacks of an audit, one case each.
#pragma once
#include "models/audit/subject.h"

namespace tessera::audit {

// membership.cpp: who was in the table, by synthetic rows; one search of nearest rows serves both.
//   The distance to the nearest synthetic row (distance to the closest record; the Monte Carlo attack of Hilprecht et
//   al. 2019 with the nearest neighbor as its radius).
//   The ratio of the densities of synthetic rows and of the population, both by nearest neighbors: overfitting shows
//   where the model is denser (DOMIAS: van Breugel et al. 2023).
std::vector<Attack> by_distance(const Subject& s);

// likelihood.cpp: membership by ln p(row) under the model file. None if neither the method nor its decoder has a
// likelihood.
std::vector<Attack> by_likelihood(const Subject& s);
// The logit of the calibration's density ratio, a classifier trained to separate training rows from the model's:
// memorized rows look real to it (LOGAN: Hayes et al. 2019). None if the model is not calibrated.
std::vector<Attack> by_classifier(const Subject& s);

// linkage.cpp: the three risks of the European guidance on anonymization, as in Anonymeter (Giomi et al. 2022).
Attack singling_out(const Subject& s);
// Linkability, and inference of each column from all others: one search of nearest rows serves both.
std::vector<Attack> linkage(const Subject& s);
// Combinations of three columns that one person alone has.
Attack rare_combinations(const Subject& s);

// copies.cpp: rows that come back, exactly or nearly (models/dedup).
std::vector<Attack> copies(const Subject& s);

// leaks.cpp: values of one to four rows, in the bytes of the file and among synthetic rows.
std::vector<Attack> leaks(const Subject& s);

// shadows.cpp: attacks that train models like the audited one.
// Likelihood ratio of a row under models that learned it and models that did not (LiRA: Carlini et al. 2022). `models`:
// how many, even.
Attack likelihood_ratio(const Subject& s, int models);
// Rows of known levels in random combinations, some of them planted in the training table of a model like the audited
// one, once or four times: whether it knows those better than others (exposure: Carlini et al. 2019).
Attack canaries(const Subject& s, int planted);
// The first rows that a model samples.
Table rows_of(const Model& model, int64_t count, uint64_t seed, const quality::Workers& workers);
// A model like another, fitted on other rows; without `rules`, they need not follow its rules.
Model model_like(const Model& model, Table&& rows, uint64_t seed, Team& team, const Monitor& monitor,
                 bool rules = true);

// How likely rows are under a model: ln p(row), or the distance to the nearest of `rows` sampled ones.
std::vector<double> familiarity(const Model& model, const Table& rows, uint64_t seed, const quality::Workers& workers);

}  // namespace tessera::audit
