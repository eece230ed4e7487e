// Sums of rows of n elements, with the vector instructions that the processor has. T: float, Bf16,
// Fp16; arithmetic in fp32.
#pragma once
#include "operations/common/element.hpp"

namespace trainx::operations {

/// to = from, in fp32.
void read_row(float* to, const float* from, std::int64_t n);
void read_row(float* to, const Bf16* from, std::int64_t n);
void read_row(float* to, const Fp16* from, std::int64_t n);

/// to = from, rounded.
void write_row(float* to, const float* from, std::int64_t n);
void write_row(Bf16* to, const float* from, std::int64_t n);
void write_row(Fp16* to, const float* from, std::int64_t n);

/// to += by * from.
void add_scaled_row(float* to, const float* from, float by, std::int64_t n);
void add_scaled_row(float* to, const Bf16* from, float by, std::int64_t n);
void add_scaled_row(float* to, const Fp16* from, float by, std::int64_t n);

/// to = by * from.
void scale_row(float* to, const float* from, float by, std::int64_t n);
void scale_row(Bf16* to, const Bf16* from, float by, std::int64_t n);
void scale_row(Fp16* to, const Fp16* from, float by, std::int64_t n);

/// Of two rows.
float dot_of_rows(const float* a, const float* b, std::int64_t n);
float dot_of_rows(const Bf16* a, const Bf16* b, std::int64_t n);
float dot_of_rows(const Fp16* a, const Fp16* b, std::int64_t n);

}  // namespace trainx::operations
