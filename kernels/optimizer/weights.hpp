// The exact weight of one element, as the update rules see it: for the kernels and the references.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/optimizer/update.hpp"
#include <cstdint>

namespace trainx::kernels {

struct Fp32Weights {
  float* exact;
  TRAINX_HOST_DEVICE explicit Fp32Weights(const UpdateRange& r, const UpdateScalars&)
      : exact(static_cast<float*>(r.parameter)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const { exact[i] = x; }
};

struct Bf16Weights {
  Bf16* rounded;
  TRAINX_HOST_DEVICE explicit Bf16Weights(const UpdateRange& r, const UpdateScalars&)
      : rounded(static_cast<Bf16*>(r.parameter)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return widened(rounded[i]); }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const { rounded[i] = nearest_weight(x); }
};

struct StochasticWeights {  // bf16 alone, rounded up or down at random
  Bf16* rounded;
  RoundingKey key;
  std::int64_t applied_steps;
  TRAINX_HOST_DEVICE explicit StochasticWeights(const UpdateRange& r, const UpdateScalars& s)
      : rounded(static_cast<Bf16*>(r.parameter)),
        key(r.rounding),
        applied_steps(*s.applied_steps) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return widened(rounded[i]); }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const {
    rounded[i] = stochastic_weight(x, key, i, applied_steps);
  }
};

struct MasterWeights {
  Bf16* rounded;
  float* exact;
  TRAINX_HOST_DEVICE explicit MasterWeights(const UpdateRange& r, const UpdateScalars&)
      : rounded(static_cast<Bf16*>(r.parameter)), exact(static_cast<float*>(r.master)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const {
    exact[i] = x;
    rounded[i] = nearest_weight(x);
  }
};

struct HalfWeights {  // fp16 beside its master
  Fp16* rounded;
  float* exact;
  TRAINX_HOST_DEVICE explicit HalfWeights(const UpdateRange& r, const UpdateScalars&)
      : rounded(static_cast<Fp16*>(r.parameter)), exact(static_cast<float*>(r.master)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return exact[i]; }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const {
    exact[i] = x;
    narrow(x, rounded[i]);
  }
};

struct SplitWeights {
  Bf16* rounded;
  std::uint16_t* low;
  TRAINX_HOST_DEVICE explicit SplitWeights(const UpdateRange& r, const UpdateScalars&)
      : rounded(static_cast<Bf16*>(r.parameter)), low(static_cast<std::uint16_t*>(r.master)) {}
  TRAINX_HOST_DEVICE float load(std::int64_t i) const { return joined(rounded[i], low[i]); }
  TRAINX_HOST_DEVICE void store(std::int64_t i, float x) const {
    rounded[i] = nearest_weight(x);
    low[i] = low_bits(x);
  }
};

}  // namespace trainx::kernels
