#include "operations/op_context.hpp"
#include "operations/quantize/quantize.hpp"
#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

void Quantize::run_forward(const OpContext& c) const {
  // dropped and made anew together
  if (c.writes(values)) quantize({c.output(values), c.output(scale), format}, c.input(x));
}

}  // namespace trainx::operations
