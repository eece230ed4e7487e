#include "operations/op_context.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include "operations/quantize/quantize.hpp"
#include "operations/quantize/quantize_spec.hpp"

namespace trainx::operations {

static_assert(fp8_exponents == kernels::fp8_exponents);
static_assert(fp8_range_state == kernels::fp8_range_state);
static_assert(fp8_block == kernels::fp8_block);

void Quantize::run_forward(const OpContext& c) const {
  // the scale is dropped and made anew with either copy
  const bool writes_values = c.writes(values), writes_transposed = c.writes(transposed);
  if (!writes_values && !writes_transposed) return;
  Fp8Cast how = fp8_cast(c, {Fp8Class::inputs, number});
  how.activation = activation, how.gated = gated;
  if (scaling == Fp8Scaling::blocks)
    return quantize({writes_values ? by_row(c.output(values)) : Tensor(), c.output(scale), format,
                     writes_transposed ? c.output(transposed) : Tensor(), Fp8Granularity::vector,
                     c.output(transposed_scale)},
                    by_row(c.input(x)), how);
  quantize({writes_values ? c.output(values) : Tensor(), c.output(scale), format,
            writes_transposed ? c.output(transposed) : Tensor()},
           c.input(x), how);
}

Fp8Cast fp8_cast(const Tensor& ranges, const Tensor& counts, Fp8Class of, std::int64_t tensor) {
  Fp8Cast how;
  const auto row = [&](const Tensor& all) {
    const std::int64_t at = static_cast<int>(of) * all.size(1) * all.size(2) + tensor;
    return all.view({-1, all.size(3)}).narrow(0, at, 1).view({-1});
  };
  if (ranges.defined()) how.known = row(ranges).narrow(0, 0, 1);
  if (!counts.defined()) return how;
  const Tensor own = row(counts);
  how.counts = own.narrow(0, 0, fp8_count_kinds);
  if (ranges.defined()) how.exponents = own.narrow(0, fp8_count_kinds, fp8_exponents);
  return how;
}

Fp8Cast fp8_cast(const OpContext& c, Fp8Site site, bool counts) {
  const Tensor ranges = c.whole(c.bound().fp8_ranges),
               counted = counts ? c.whole(c.bound().fp8_counts) : Tensor();
  const Tensor& any = ranges.defined() ? ranges : counted;
  if (!any.defined()) return {};
  return fp8_cast(ranges, counted, site.of, c.block().cast_number() * any.size(2) + site.number);
}

}  // namespace trainx::operations
