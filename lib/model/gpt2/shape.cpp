#include "model/gpt2/shape.hpp"

namespace trainx::model::gpt2 {

ops::Dropout dropout(const Shape& shape, const BlockContext& c, program::Slot positions, std::int64_t first_row) {
  if (!(shape.dims.dropout > 0) || !c.training()) return {};
  return {shape.dims.dropout, c.random_key(0), static_cast<const std::int64_t*>(c[positions].const_data_ptr()), shape.length, first_row};
}

}  // namespace trainx::model::gpt2
