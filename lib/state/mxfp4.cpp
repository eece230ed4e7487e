#include "state/mxfp4.hpp"
#include "core/error.hpp"
#include "tensor/large_memory.hpp"
#include <array>
#include <cmath>

namespace trainx::state {
namespace {

constexpr std::int64_t block = 32;  // numbers that share a scale
constexpr int scale_bias = 127;
// a sign, two bits of exponent, one of mantissa
constexpr std::array<float, 16> e2m1{0,     0.5F,  1,  1.5F,  2,  3,  4,  6,
                                     -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

}  // namespace

bool is_in_mxfp4(const NamedTensors& saved, const program::ParameterSpec& p) {
  return !saved.has(p.name) && saved.has(p.name + "_blocks");
}

void take_mxfp4(NamedTensors& saved, const program::ParameterSpec& p, float* group_memory) {
  const std::int64_t in = p.dims.back(), blocks = p.elements() / block;
  if (p.dims.size() != 3 || in % block != 0)
    throw UserError(ExitCode::bad_data, "tensor '" + p.name + "' is in mxfp4, whose blocks of " +
                                            std::to_string(block) + " do not divide rows of " +
                                            std::to_string(in));
  const auto numbers = saved.take_bytes(p.name + "_blocks",
                                        {p.dims[0], p.dims[1], in / block, block / 2}, DType::u8);
  const auto scales =
      saved.take_bytes(p.name + "_scales", {p.dims[0], p.dims[1], in / block}, DType::u8);
  float* const to = group_memory + p.offset;
  constexpr std::int64_t least = tensor::least_bytes / (block * std::int64_t{sizeof(float)});
  tensor::for_parts(blocks, least, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const int exponent = std::to_integer<int>(scales[static_cast<std::size_t>(b)]) - scale_bias;
      for (std::int64_t i = 0; i < block / 2; ++i) {
        const auto pair =
            std::to_integer<unsigned>(numbers[static_cast<std::size_t>(b * (block / 2) + i)]);
        to[b * block + 2 * i] = std::ldexp(e2m1[pair & 15U], exponent);
        to[b * block + 2 * i + 1] = std::ldexp(e2m1[pair >> 4U], exponent);
      }
    }
  });
}

}  // namespace trainx::state
