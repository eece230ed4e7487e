// Functions of one number on n elements in a row, with the vector instructions that the processor
// has. T: float, Bf16, Fp16; arithmetic in fp32.
#pragma once
#include "operations/activation/activation_spec.hpp"
#include "operations/common/element.hpp"

namespace trainx::operations {

/// Throws InternalError of no function. Those below may not throw: they are compiled for several
/// instruction sets, and exceptions end the program there.
void require_function(Activation f);

/// y = f(x). Not of tanh, whose formulas have the result for their argument.
void activate_row(Activation f, float* y, const float* x, std::int64_t n);
void activate_row(Activation f, Bf16* y, const Bf16* x, std::int64_t n);
void activate_row(Activation f, Fp16* y, const Fp16* x, std::int64_t n);

/// dx = dy f'(x); of tanh `x` is the result.
void activate_row_backward(Activation f, float* dx, const float* dy, const float* x,
                           std::int64_t n);
void activate_row_backward(Activation f, Bf16* dx, const Bf16* dy, const Bf16* x, std::int64_t n);
void activate_row_backward(Activation f, Fp16* dx, const Fp16* dy, const Fp16* x, std::int64_t n);

/// y = f(gate) * up.
void gate_row(Activation f, float* y, const float* gate, const float* up, std::int64_t n);
void gate_row(Activation f, Bf16* y, const Bf16* gate, const Bf16* up, std::int64_t n);
void gate_row(Activation f, Fp16* y, const Fp16* gate, const Fp16* up, std::int64_t n);

/// d_gate = d f'(gate) up, d_up = d f(gate).
void gate_row_backward(Activation f, float* d_gate, float* d_up, const float* d, const float* gate,
                       const float* up, std::int64_t n);
void gate_row_backward(Activation f, Bf16* d_gate, Bf16* d_up, const Bf16* d, const Bf16* gate,
                       const Bf16* up, std::int64_t n);
void gate_row_backward(Activation f, Fp16* d_gate, Fp16* d_up, const Fp16* d, const Fp16* gate,
                       const Fp16* up, std::int64_t n);

}  // namespace trainx::operations
