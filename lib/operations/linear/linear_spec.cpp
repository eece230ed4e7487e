#include "operations/linear/linear_spec.hpp"
#include "operations/quantize/quantize_spec.hpp"
#include <algorithm>

namespace trainx::operations {

using program::Gemm;

std::vector<OutputSpec> Linear::outputs(const Types& t) const {
  const std::int64_t n = t.inputs[x].rows(), columns = t.parameters[weight].rows();
  const TensorType type{epilogue.makes_logits() && t.host_16_bits() ? DType::f32 : t.compute,
                        {n, columns}};
  std::vector<OperandId> from{input(x), parameter(weight)};
  if (t.has_parameter(bias)) from.push_back(parameter(bias));
  if (fp8) from.push_back(input(input_scale));
  if (!epilogue.keeps_sum()) return {{}, {"y", type, from}};
  if (epilogue.is_in_casts()) return {{"preactivation", type, from}, {}};
  return {{"preactivation", type, from}, {"activated", type, {output(preactivation)}, true}};
}

BackwardSpec Linear::backward(const Types& t) const {
  BackwardSpec b;
  const bool in_blocks = fp8 && fp8->in_blocks();
  if (t.trains(weight))
    b.reads.push_back(input(fp8 && (t.gpu || in_blocks) ? input_transposed : x));
  if (t.trains(weight) && fp8)
    b.reads.push_back(input(in_blocks ? input_transposed_scale : input_scale));
  if (wants_input_gradient(t) && !(fp8 && fp8->casts_once())) b.reads.push_back(parameter(weight));
  if (epilogue.differentiates()) {
    b.reads.push_back(output(epilogue.keeps_sum() ? preactivation : y));
    b.changes = y;
  }
  if (input_activation != Activation::none) {
    if (wants_input_gradient(t)) b.reads.push_back(input(input_sum));
    b.inputs = {{.input = input_sum}};
  } else {
    b.inputs = {{.input = x}};
  }
  b.parameters = {weight};
  if (t.has_parameter(bias) && epilogue.sums_bias()) b.parameters.push_back(bias);
  if (t.has_parameter(input_bias)) b.parameters.push_back(input_bias);
  return b;
}

Cost Linear::cost(Direction direction, const Types& t) const {
  const std::int64_t N = t.inputs[x].rows(), in = t.parameters[weight].columns(),
                     out = t.parameters[weight].rows();
  const TensorType low_type{t.compute, {N, out}};
  Cost c;
  c.scratch.resize(scratch_count);
  if (fp8) t.gpu ? add_gpu_fp8_scratch(c, direction, t) : add_fp8_scratch(c, direction, t);
  if (fp8 && fp8->casts_once()) add_weight_copies(c, direction, t);
  c.scratch[low] = {"logits_low",
                    epilogue.makes_logits() && t.host_16_bits() ? low_type : TensorType{}};
  if (direction == Direction::forward) {
    c.products = {{Gemm{.m = N, .n = out, .k = in, .fp8 = fp8.has_value()},
                   epilogue.keeps_sum() ? preactivation : y}};
    if (epilogue.activates() && !epilogue.is_in_casts()) {
      c.kernels.push_back({KernelFamily::activation});
      c.element_flops = static_cast<double>(N * out) * activation_flops;
      c.element_bytes += 2 * low_type.bytes();
      c.element_output = y;
    }
    return c;
  }
  if (t.host_16_bits() && t.trains(weight) && !fp8)
    c.scratch[cast] = {"cast", {DType::f32, {N * (epilogue.makes_logits() ? in : in + out)}}};
  if (wants_input_gradient(t))
    c.products.push_back({Gemm{.m = N, .n = in, .k = out, .fp8 = fp8.has_value()}});
  if (t.trains(weight))
    c.products.push_back(
        {Gemm{.m = out, .n = in, .k = N, .a_transposed = true, .fp8 = fp8.has_value()}});
  const bool on_the_way = epilogue.is_in_casts() && casts_gradient(t);
  if (t.gpu && epilogue.differentiates() && t.has_parameter(bias) && !t.trains(bias) && !on_the_way)
    c.scratch[unused_bias] = {"unused_bias", {DType::f32, {out}}};
  if (t.gpu && wants_input_gradient(t) && t.has_parameter(input_bias) && !t.trains(input_bias))
    c.scratch[unused_input_bias] = {"unused_input_bias", {DType::f32, {in}}};
  if (input_activation != Activation::none && wants_input_gradient(t)) {
    c.kernels.push_back({KernelFamily::activation});
    c.element_flops += static_cast<double>(N * in) * activation_gradient_flops;
    c.element_bytes += 3 * t.inputs[input_sum].bytes();
  }
  if (on_the_way) {
    const int times = reads_of_cast(fp8->scaling);
    c.element_flops += times * static_cast<double>(N * out) * activation_gradient_flops;
    c.element_bytes += times * low_type.bytes();  // of the sum
  } else if (epilogue.differentiates()) {
    c.kernels.push_back({KernelFamily::activation});
    c.element_flops += static_cast<double>(N * out) * activation_gradient_flops;
    c.element_bytes += 3 * low_type.bytes();
  } else if (t.has_parameter(bias) && t.trains(bias) && epilogue.sums_bias() &&
             !casts_gradient(t)) {
    c.kernels.push_back({KernelFamily::column_sum});
  }
  return c;
}

void Linear::add_fp8_scratch(Cost& cost, Direction direction, const Types& t) const {
  const std::int64_t N = t.inputs[x].rows(), in = t.parameters[weight].columns(),
                     out = t.parameters[weight].rows();
  const bool forward = direction == Direction::forward,
             multiplies_weight = forward || wants_input_gradient(t);
  // in fp32, before it is rounded
  const auto result = [&](std::int64_t elements) { return t.compute == DType::f32 ? 0 : elements; };
  std::int64_t wide = 0;  // products are made one after the other
  if (forward)
    wide = N * in + out * in + result(N * out);
  else if (multiplies_weight)
    wide = N * out + out * in + result(N * in);
  if (!forward && t.trains(weight)) wide = std::max(wide, N * out + N * in);
  if (wide == 0) return;  // a bias alone is trained
  if (multiplies_weight && fp8->weight_casts == Fp8WeightCasts::in_each_use) {
    cost.scratch[fp8_weight] = {"fp8_weight", {DType::u8, {out, in}}};
    cost.scratch[fp8_weight_scale] = {"fp8_weight_scale",
                                      fp8_scale_type(fp8->weight_granularity(), out, in)};
  }
  if (!forward && (!fp8->in_blocks() || multiplies_weight)) {
    cost.scratch[fp8_gradient] = {"fp8_gradient", {DType::u8, {N, out}}};
    cost.scratch[fp8_gradient_scale] = {"fp8_gradient_scale",
                                        fp8_scale_type(fp8->granularity(), N, out)};
  }
  if (!forward && fp8->in_blocks() && t.trains(weight)) {
    cost.scratch[fp8_gradient_transposed] = {"fp8_gradient_transposed", {DType::u8, {out, N}}};
    cost.scratch[fp8_gradient_transposed_scale] = {"fp8_gradient_transposed_scale",
                                                   fp8_scale_type(fp8->granularity(), out, N)};
  }
  cost.scratch[fp8_wide] = {"fp8_wide", {DType::f32, {wide}}};
}

void Linear::add_gpu_fp8_scratch(Cost& cost, Direction direction, const Types& t) const {
  const std::int64_t N = t.inputs[x].rows(), in = t.parameters[weight].columns(),
                     out = t.parameters[weight].rows();
  const bool forward = direction == Direction::forward;
  std::int64_t quantized = 0;
  const int times = reads_of_cast(fp8->scaling);
  const auto casts = [&](std::int64_t read, std::int64_t elements, int copies) {
    cost.element_bytes +=
        static_cast<double>(read * times * size_of(t.compute) + elements * copies);
  };
  if (!forward && wants_input_gradient(t) && fp8->takes_fp8_weight()) {
    cost.scratch[fp8_weight_transposed] = {"fp8_weight_transposed", {DType::u8, {in, out}}};
    cost.element_bytes += static_cast<double>(2 * out * in);
    cost.kernels.push_back({KernelFamily::transpose});
  }
  if ((forward || wants_input_gradient(t)) && fp8->weight_casts == Fp8WeightCasts::in_each_use) {
    casts(out * in, out * in, 1);
    if (forward || !fp8->in_blocks())
      cost.scratch[fp8_weight_scale] = {"fp8_weight_scale",
                                        fp8_scale_type(fp8->weight_granularity(), out, in)};
    else
      cost.scratch[fp8_weight_transposed_scale] = {
          "fp8_weight_transposed_scale", fp8_scale_type(fp8->weight_granularity(), in, out)};
    if (forward)
      cost.scratch[fp8_weight] = {"fp8_weight", {DType::u8, {out, in}}};
    else
      cost.scratch[fp8_weight_transposed] = {"fp8_weight_transposed", {DType::u8, {in, out}}};
    ++quantized;
  }
  if (!forward && casts_gradient(t)) {
    casts(epilogue.is_gated() ? N * out / 2 : N * out, N * out,
          wants_input_gradient(t) + t.trains(weight));
    if (!fp8->in_blocks() || wants_input_gradient(t))
      cost.scratch[fp8_gradient_scale] = {"fp8_gradient_scale",
                                          fp8_scale_type(fp8->granularity(), N, out)};
    if (fp8->in_blocks() && t.trains(weight))
      cost.scratch[fp8_gradient_transposed_scale] = {"fp8_gradient_transposed_scale",
                                                     fp8_scale_type(fp8->granularity(), out, N)};
    if (wants_input_gradient(t))
      cost.scratch[fp8_gradient] = {"fp8_gradient", {DType::u8, {N, out}}};
    if (t.trains(weight))
      cost.scratch[fp8_gradient_transposed] = {"fp8_gradient_transposed", {DType::u8, {out, N}}};
    ++quantized;
  }
  if (quantized > 0)
    cost.kernels.push_back({KernelFamily::quantize, quantized * quantize_kernels(fp8->scaling)});
}

/// What forward casts, and each direction reads: on CPUs backward reads what forward does.
void Linear::add_weight_copies(Cost& cost, Direction direction, const Types& t) const {
  const std::int64_t in = t.parameters[weight].columns(), out = t.parameters[weight].rows();
  const bool forward = direction == Direction::forward,
             transposes = t.gpu && wants_input_gradient(t);
  const auto add = [&](Scratch which, std::string_view called, TensorType type, bool for_backward) {
    cost.scratch[which] = {called, std::move(type), weight, for_backward, fp8->casts_once_a_run()};
  };
  const TensorType scale = fp8_scale_type(fp8->weight_granularity(), out, in);
  if (forward || (!t.gpu && wants_input_gradient(t)))
    add(fp8_weight, "fp8_weight", {DType::u8, {out, in}}, false);
  if (forward || (wants_input_gradient(t) && !(t.gpu && fp8->in_blocks())))
    add(fp8_weight_scale, "fp8_weight_scale", scale, false);
  if (transposes) {
    add(fp8_weight_transposed, "fp8_weight_transposed", {DType::u8, {in, out}}, true);
    if (fp8->in_blocks())
      add(fp8_weight_transposed_scale, "fp8_weight_transposed_scale",
          fp8_scale_type(fp8->weight_granularity(), in, out), true);
  }
  if (!forward || !t.gpu) return;
  const double once = static_cast<double>(out * in * size_of(t.compute));
  const int times = reads_of_cast(fp8->scaling);
  cost.kernels.push_back({KernelFamily::quantize, quantize_kernels(fp8->scaling)});
  cost.parameter_casts.push_back({fp8_weight, weight, quantize_kernels(fp8->scaling), once,
                                  times * once + static_cast<double>(out * in * (1 + transposes))});
}

bool gpu_multiplies_fp8(const Types& of_linear) {
  const TensorType &x = of_linear.inputs[Linear::x], &weight = of_linear.parameters[Linear::weight];
  return x.rows() % gpu_fp8_multiple == 0 && weight.rows() % gpu_fp8_multiple == 0 &&
         weight.columns() % gpu_fp8_multiple == 0;
}

std::optional<Split> Linear::split(SplitAxis axis, const Types& t) const {
  // a part of a tensor has another largest value
  if (fp8) return std::nullopt;
  const bool biased = t.has_parameter(bias);
  Split s;
  s.parameters.resize(t.parameters.size());
  if (axis == SplitAxis::column) {
    s.parameters[weight] = 0;
    if (biased) s.parameters[bias] = 0;
    s.sums_inputs = true;
    return s;
  }
  // an activation is not linear
  if (axis != SplitAxis::row || epilogue.activates()) return std::nullopt;
  s.parameters[weight] = 1;
  if (t.has_parameter(input_bias)) s.parameters[input_bias] = 0;
  s.sums_outputs = true;
  return s;
}

bool Linear::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
