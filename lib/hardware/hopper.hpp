// What GPUs of compute capability 9.0 have in common.
#pragma once
#include "hardware/hardware.hpp"
#include "program/time.hpp"

namespace trainx::hardware {

/// Until all multiprocessors are busy, and while they no longer are: program::Rates::kernel_s.
constexpr double hopper_kernel_s = 2.36e-6;
/// Each way over NVLink 4, as the data sheet has it.
constexpr double nvlink4_bytes_per_s = 450e9;
// DGX H100 User Guide: an adapter of 400 Gbit/s for each GPU.
constexpr double dgx_h100_network_bytes_per_s = 50e9;
/// Peaks of both data sheets, without sparsity.
constexpr double hopper_bf16_flops = 989.4e12, hopper_tf32_flops = 494.7e12,
                 hopper_fp32_flops = 66.9e12;

/// Of cuDNN's attention on an H100, by heads of 64 and of 128 (bench_libraries lengths,
/// tests/data/measured/h100/lengths.jsonl).
constexpr program::FusedAttention cudnn_heads_of_64{462e12, 301, 446},
    cudnn_heads_of_128{573e12, 309, 411};
/// Of trainx's kernels for Hopper (bench_hopper_attention times,
/// tests/data/measured/h100/hopper_attention/kernels.txt).
constexpr program::FusedAttention hopper_heads_of_64{504e12, 320, 287},
    hopper_heads_of_128{579e12, 529, 302};

/// Of trainx's own attention in bf16, where libraries have none: what its FLOPs took in the step of
/// t5-base-32x1024 (tests/data/measured/h100/steps.jsonl).
constexpr double hopper_own_attention_flops = 91e12;

/// Of trainx's products of experts in 16 bits, by the kernels for all generations and by those for
/// Hopper, at about 1,000 rows an expert (bench_hopper_experts,
/// bench/results/h100/hopper_experts.txt).
constexpr double portable_experts_flops = 290e12, hopper_experts_flops = 630e12;

/// Products of fp8 beside those of bf16: an estimate, of 1.7 to 1.9 at equal watts. Not measured.
constexpr double fp8_speedup_estimate = 1.8;
/// The same with scales of vectors and blocks: by what Transformer Engine's tables for an H200
/// leave them beside scales of tensors. Not measured.
constexpr double fp8_blocks_speedup_estimate = 1.6;

/// What a cast to fp8 takes beyond its bytes: with it the choice of small products is the fastest
/// in the rows of bench/results/h200/small_products.md.
constexpr double fp8_cast_s = 4.6e-6;

/// In the step of llama-8b-x2 (tests/data/measured/h100/steps.jsonl), of bf16 alone; of others it
/// is a guess.
constexpr ElementTimes hopper_adamw_8bit{7.6e-12, 7.6e-12, 7.6e-12};

/// Links, peaks, and what kernels take that is the same on all; beside a GPU's own rates.
void add_hopper(Hardware& gpu);

/// Products in 16 bits, fp32 and tf32 on 132 multiprocessors, with memory of that speed.
program::TileRates hopper_tiles(double memory_bytes_per_s);
program::TileRates hopper_fp32_tiles(double memory_bytes_per_s);
program::TileRates hopper_tf32_tiles(double memory_bytes_per_s);

}  // namespace trainx::hardware
