#include "operations/op_context.hpp"
#include "operations/quantize/quantize.hpp"
#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

void Quantize::run_forward(const OpContext& c) const {
  // the scale is dropped and made anew with either copy
  const bool writes_values = c.writes(values), writes_transposed = c.writes(transposed);
  if (!writes_values && !writes_transposed) return;
  quantize({writes_values ? c.output(values) : Tensor(), c.output(scale), format,
            writes_transposed ? c.output(transposed) : Tensor()},
           c.input(x));
}

}  // namespace trainx::operations
