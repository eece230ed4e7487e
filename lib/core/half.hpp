// The two 16-bit floating-point formats, as bits: widening is exact, rounding is to nearest, ties
// to even (IEEE 754-2019, 4.3.1).
#pragma once
#include <cstdint>

namespace trainx {

float widen_bf16(std::uint16_t bits);
float widen_f16(std::uint16_t bits);
/// Values beyond the format's range become infinite; a NaN stays one.
std::uint16_t round_to_bf16(float x);
std::uint16_t round_to_f16(float x);

}  // namespace trainx
