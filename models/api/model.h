#pragma once
#include "models/model/model.h"

struct tessera_model {
  tessera::Model model;
};
