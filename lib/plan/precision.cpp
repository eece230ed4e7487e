#include "plan/precision.hpp"

namespace trainx::plan {

DType dtype_of(recipe::Compute compute) {
  switch (compute) {
    case recipe::Compute::bf16: return DType::bf16;
    case recipe::Compute::fp16: return DType::f16;
    case recipe::Compute::fp32:
    case recipe::Compute::tf32: break;
  }
  return DType::f32;
}

DType evaluation_dtype_of(const recipe::Recipe& r) {
  if (r.eval.precision.is_auto()) return dtype_of(r.precision.compute);
  return *r.eval.precision.value == recipe::EvalPrecision::bf16 ? DType::bf16 : DType::f16;
}

graph::Fp8Layers fp8_layers_of(const recipe::PrecisionSection& precision) {
  if (precision.products == recipe::Products::compute) return graph::Fp8Layers::off;
  return precision.first_last.value.value_or(recipe::Products::fp8) == recipe::Products::fp8
             ? graph::Fp8Layers::all
             : graph::Fp8Layers::inner;
}

operations::Fp8Scaling fp8_scaling_of(const recipe::PrecisionSection& precision) {
  switch (precision.scaling) {
    case recipe::Scaling::current: break;
    case recipe::Scaling::delayed: return operations::Fp8Scaling::delayed;
    case recipe::Scaling::blocks: return operations::Fp8Scaling::blocks;
  }
  return operations::Fp8Scaling::current;
}

program::Master master_of(const recipe::PrecisionSection& precision) {
  const DType compute = dtype_of(precision.compute);
  if (compute == DType::f32) return program::Master::absent;
  if (precision.master.is_auto())
    return compute == DType::f16 ? program::Master::fp32 : program::Master::split;
  switch (*precision.master.value) {
    case recipe::MasterWeights::fp32: return program::Master::fp32;
    case recipe::MasterWeights::split: return program::Master::split;
    case recipe::MasterWeights::none: break;
  }
  return program::Master::absent;
}

}  // namespace trainx::plan
