#pragma once
#include <cstdint>
#include <string_view>

namespace trainx {

/// Who computes attention (model.attention). All give the same result within rounding.
enum class AttentionKind : std::uint8_t {
  // on a GPU trainx's kernels for its generation where it has them (kernels/attention/hopper), else
  // cuDNN in 16 bits where it takes the heads and rows hold no documents (data.packed), else
  // trainx's kernels for all GPUs; on a CPU flash
  automatic,
  cudnn,      // its fused kernels
  flash,      // ATen's flash attention (Dao 2023, arXiv:2307.08691)
  efficient,  // ATen's memory-efficient attention (Rabe & Staats 2021, arXiv:2112.05682)
  math,       // as the formula is written: all scores lie in memory
};

constexpr std::string_view name_of(AttentionKind kind) {
  constexpr std::string_view names[] = {"auto", "cudnn", "flash", "efficient", "math"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace trainx
