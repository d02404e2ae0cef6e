#include "models/fitted/fitted_model.h"

namespace tessera {

Table FittedModel::schema() const {
  Table out = encoded_schema();
  rules.restore(out);
  return out;
}

}  // namespace tessera
