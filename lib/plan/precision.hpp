// What the recipe's precision means for the program.
#pragma once
#include "core/dtype.hpp"
#include "graph/fp8_options.hpp"
#include "program/plain.hpp"
#include "recipe/sections.hpp"

namespace trainx::plan {

/// Of parameters and values.
DType dtype_of(recipe::Compute compute);
/// Of values in evaluations.
DType evaluation_dtype_of(const recipe::Recipe& recipe);
/// Whose linear layers multiply operands in fp8.
graph::Fp8Layers fp8_layers_of(const recipe::PrecisionSection& precision);
operations::Fp8Scaling fp8_scaling_of(const recipe::PrecisionSection& precision);
/// Where the exact weights are.
program::Master master_of(const recipe::PrecisionSection& precision);

}  // namespace trainx::plan
