// Random tables by number: table i depends only on (options, i).
#pragma once
#include <functional>
#include <vector>

#include "models/prior/scm.h"

namespace tessera::prior {

struct PriorTable {
  int64_t index = 0, rows = 0, features = 0, train_rows = 0;  // the first train_rows rows are for training
  int32_t attempts = 0;                                       // until one was valid
  std::vector<float> x, y;                                    // [rows][features]; [rows]: classes 0, 1, … or numbers
  std::vector<int64_t> class_rows;                            // rows of each class; empty: regression
  Settings settings;
};

// A valid table: finite, at least one feature, no constant feature, at least two classes, and the same classes in both
// parts; with options.imbalance all classes, each within a tenth of its share. Error(condition) if 1,000 attempts give
// none.
// given: writes what the model of the first attempt draws to work.x and work.y; it has been computed elsewhere.
using Given = std::function<void(Work&)>;
PriorTable draw_table(const Options& options, int64_t index, Work& work, const Given& given = {});

// The steps after the model (models/prior/after.cpp), on work.x and work.y.
void make_categories(Draws& d, Columns& x);
void clip_and_scale(float* x, int64_t n);
// Turns y into classes, or keeps numbers if settings.classes is 0. False: the attempt is not valid.
bool make_classes(const Settings& settings, Draws& d, std::vector<float>& y);
// y ← other names 0, 1, … of the classes that occur. False: fewer than two.
bool name_classes(Draws& d, std::vector<float>& y, int64_t classes);
void separate_classes(double separability, Columns& x, const std::vector<float>& y);
// NaN in a share of the cells of x, completely at random; a feature's own share is uniform with the mean `share`, at
// most 1. A feature that would be constant keeps its cells.
void hide_cells(double share, const TableKey& key, PriorTable& table);
nlohmann::json to_json(const PriorTable& table);

}  // namespace tessera::prior
