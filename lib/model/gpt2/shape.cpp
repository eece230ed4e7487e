#include "model/gpt2/shape.hpp"
#include "model/dropout_site.hpp"

namespace trainx::model::gpt2 {

operations::Dropout dropout(const Shape& shape, const BlockContext& c, program::Slot positions,
                            std::int64_t first_row) {
  return dropout_site(c, shape.dims.dropout, positions, shape.length, first_row);
}

}  // namespace trainx::model::gpt2
