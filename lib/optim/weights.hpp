// How a weight lies in memory, as the update loops see it: read as the exact fp32 value, written
// back with its 16-bit copy.
#pragma once
#include "kernels/optimizer/stochastic_rounding.hpp"
#include <cstdint>

/// Compiled for three instruction sets, chosen when the program starts: before sanitizers are
/// ready, which get one.
#ifdef __SANITIZE_ADDRESS__
#define TRAINX_OPTIM_CLONES
#else
#define TRAINX_OPTIM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
/// Inlined into each clone, so that it is compiled for the clone's instruction set.
#define TRAINX_OPTIM_INLINE inline __attribute__((always_inline))

namespace trainx::optim {

/// Nearest bf16, ties away from zero; NaN stays NaN. Of all roundings to nearest this one leaves
/// exactly 2^16 floats for each bf16, so that the 16 bits of a split master suffice (ties to even
/// leaves 2^16 + 1 for every even one). Used with and without a master: all kinds train alike.
TRAINX_OPTIM_INLINE std::uint16_t nearest_bf16(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  return static_cast<std::uint16_t>(x == x ? (bits + 0x8000) >> 16 : bits >> 16 | 0x40);
}
/// What nearest_bf16 took away: a signed 16-bit number of steps of the fp32 representation.
TRAINX_OPTIM_INLINE std::uint16_t low_bits(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  // a NaN's lowest bits must not borrow from its upper ones
  return static_cast<std::uint16_t>(x == x ? bits : bits & 0x7fff);
}
TRAINX_OPTIM_INLINE float joined(std::uint16_t bf16, std::uint16_t low) {
  const auto correction =
      static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(low)));
  return __builtin_bit_cast(float, (static_cast<std::uint32_t>(bf16) << 16) + correction);
}

struct Fp32Weights {
  float* exact;
  TRAINX_OPTIM_INLINE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_OPTIM_INLINE void store(std::int64_t i, float x) const { exact[i] = x; }
};

struct Bf16Weights {  // no master: what is rounded away is lost
  std::uint16_t* bf16;
  TRAINX_OPTIM_INLINE float load(std::int64_t i) const { return joined(bf16[i], 0); }
  TRAINX_OPTIM_INLINE void store(std::int64_t i, float x) const { bf16[i] = nearest_bf16(x); }
};

// no master, rounded up or down at random: what is rounded away is there on average
struct StochasticWeights {
  std::uint16_t* bf16;
  kernels::RoundingKey key;
  std::int64_t applied_steps;
  TRAINX_OPTIM_INLINE float load(std::int64_t i) const { return joined(bf16[i], 0); }
  TRAINX_OPTIM_INLINE void store(std::int64_t i, float x) const {
    bf16[i] = kernels::stochastic_weight(x, key, i, applied_steps).bits;
  }
};

struct MasterWeights {  // fp32 master beside the bf16 weight
  std::uint16_t* bf16;
  float* exact;
  TRAINX_OPTIM_INLINE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_OPTIM_INLINE void store(std::int64_t i, float x) const {
    exact[i] = x;
    bf16[i] = nearest_bf16(x);
  }
};

struct HalfWeights {  // fp32 master beside the fp16 weight
  kernels::Fp16* fp16;
  float* exact;
  TRAINX_OPTIM_INLINE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_OPTIM_INLINE void store(std::int64_t i, float x) const {
    exact[i] = x;
    kernels::narrow(x, fp16[i]);
  }
};

struct SplitWeights {
  std::uint16_t *bf16, *low;
  TRAINX_OPTIM_INLINE float load(std::int64_t i) const { return joined(bf16[i], low[i]); }
  TRAINX_OPTIM_INLINE void store(std::int64_t i, float x) const {
    bf16[i] = nearest_bf16(x);
    low[i] = low_bits(x);
  }
};

}  // namespace trainx::optim
