#pragma once
#include "models/model.h"

struct tessera_model {
  tessera::Model model;
};
