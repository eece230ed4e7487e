#include "kernels/random/initial_quad.hpp"
#include <algorithm>

namespace trainx::kernels {

void initial_values_reference(const InitialPlaces& to, const InitialValues& values) {
  const std::int64_t first = values.first, last = first + values.elements;
  for (std::int64_t begin = first; begin < last;) {
    const std::int64_t quad = begin / 4, end = std::min(last, 4 * quad + 4);
    const FourValues four = initial_quad(values, quad);
    for (std::int64_t i = begin; i < end; ++i)
      store_initial(to, i - first, initial_value(values, i, four.at[i % 4]));
    begin = end;
  }
}

}  // namespace trainx::kernels
