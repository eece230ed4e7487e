#include "execute/attestation.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <algorithm>
#include <sstream>

namespace attestation_test {

using namespace trainx;
using execute::differences;

namespace {

const plan::ExpectedKernels expected{.attention_forward = 4,
                                     .attention_backward = 4,
                                     .matrix_products = 20,
                                     .activation_checkpoint = "none",
                                     .update = "adamw_kernel",
                                     .weights = "SplitWeights"};

// As an H200 showed it.
execute::CapturedKernels as_planned() {
  execute::CapturedKernels e{.captured = true};
  e.kernels = {{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x64_"
                "4x1x1_kernel0_0",
                4},
               {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_5_64x64x64_1x4x1_"
                "kernel0_0",
                4},
               {"nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_TNT", 12},
               {"nvjet_sm90_tss_256x128_64x4_2x1_v_bz_coopA_NTT", 6},
               {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_"
                "aligna4_alignc4_execute_kernel__5x_cublas",
                2},
               {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_"
                "aligna4_alignc4_execute_split_k_kernel__5x_cublas",
                2},
               {"_ZN6trainx7kernels12_GLOBAL__N_126residual_layer_norm_kernelINS0_4Bf16ENS0_"
                "8RowGroupILi2ELi1ELi8EEELb1EEEv",
                9},
               {"_ZN6trainx7kernels12_GLOBAL__N_126layer_norm_backward_kernelINS0_4Bf16ENS0_"
                "8RowGroupILi2ELi1ELi12EEELi3EEEv",
                9},
               {"_ZN6trainx7kernels12_GLOBAL__N_112adamw_kernelINS0_12SplitWeightsEEEvNS0_"
                "10AdamWTableENS0_12AdamWScalarsENS0_13AdamWSettingsE",
                1}};
  return e;
}

std::string all_of(const execute::CapturedKernels& e, const plan::ExpectedKernels& c = expected) {
  std::string text;
  for (const auto& d : differences(c, e)) text += d + "\n";
  return text;
}

/// Whether one line has all parts.
bool has_line(const std::string& text, const std::vector<std::string>& parts) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (std::ranges::all_of(
            parts, [&](const std::string& part) { return line.find(part) != std::string::npos; }))
      return true;
  return false;
}

}  // namespace

TEST_CASE("a step that is what was planned has no differences") {
  CHECK(all_of(as_planned()).empty());
  auto recomputed = as_planned();
  recomputed.kernels
      ["cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x64_4x1x1_kernel0_"
       "0"] = 8;
  recomputed.kernels["nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_TNT"] = 20;
  auto full = expected;
  full.attention_forward = 8;
  full.products_recomputed = true;
  CHECK(all_of(recomputed, full).empty());
  auto selective = expected;
  selective.norms_recomputed = 8;
  auto norms_twice = as_planned();
  norms_twice.kernels
      ["_ZN6trainx7kernels12_GLOBAL__N_126residual_layer_norm_kernelINS0_4Bf16ENS0_"
       "8RowGroupILi2ELi1ELi8EEELb1EEEv"] = 17;
  CHECK(all_of(norms_twice, selective).empty());
}

TEST_CASE("products may be made by the kernel of another one, if such a kernel ran") {
  constexpr const char* product = "nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_TNT";
  constexpr const char* summed =
      "_ZN6trainx7kernels6hopper12_GLOBAL__N_125hopper_summed_gemm_kernelILb1ENS0_4Bf16EEEv";
  auto asked = expected;
  asked.products_added = 4;
  CHECK(all_of(as_planned(), asked).empty());
  auto found = as_planned();
  REQUIRE(found.kernels.contains(product));
  found.kernels[product] -= 4;
  CHECK_FALSE(all_of(found, asked).empty());  // no kernel ran that could have made them
  found.kernels[product] -= 2;
  found.kernels[summed] = 2;
  CHECK(all_of(found, asked).empty());
  CHECK_FALSE(all_of(found).empty());
  found.kernels[product] -= 1;
  CHECK_FALSE(all_of(found, asked).empty());
  auto recomputed = asked;
  recomputed.products_recomputed = true;
  found.kernels[product] += 1;
  CHECK_FALSE(all_of(found, recomputed).empty());  // nothing was
  found.kernels[product] += 1;
  CHECK(all_of(found, recomputed).empty());
}

TEST_CASE("casts and products in fp8 are held against those that were planned") {
  constexpr const char* cast =
      "_ZN6trainx7kernels12_GLOBAL__N_122quantize_values_kernelILNS0_9Fp8FormatE0ENS0_4Bf16ELb1EEEv"
      "NS0_12QuantizationIT0_EEjb";
  auto asked = expected;
  asked.fp8_products = 12;
  asked.fp8_casts = 16;
  CHECK(has_line(all_of(as_planned(), asked), {"0 casts to fp8", "16 were planned", "fp8)"}));
  auto in_fp8 = as_planned();
  in_fp8.kernels[cast] = 16;
  // of many kernels names do not tell
  CHECK(all_of(in_fp8, asked).empty());
  CHECK(has_line(all_of(in_fp8), {"16 casts to fp8", "0 were planned", "products: compute)"}));
  auto by_blocks = asked;
  by_blocks.fp8_blocks = true;
  CHECK(has_line(all_of(in_fp8, by_blocks), {"16 casts to fp8 in a step", "0 were planned"}));
  CHECK(has_line(all_of(in_fp8, by_blocks), {"0 casts to fp8 with scales", "16 were planned"}));
  auto in_blocks = as_planned();
  in_blocks.kernels["_ZN6trainx7kernels12_GLOBAL__N_122quantize_blocks_kernelILb0EEEv"] = 16;
  CHECK(all_of(in_blocks, by_blocks).empty());
  CHECK_FALSE(all_of(in_blocks, asked).empty());
  in_fp8.kernels[cast] = 8;  // frozen scales, or a copy that is left out
  CHECK(has_line(all_of(in_fp8, asked), {"8 casts to fp8", "16 were planned"}));
  in_fp8.kernels[cast] = 16;
  std::erase_if(in_fp8.kernels, [](const auto& k) { return k.second == 12; });
  in_fp8.kernels["nvjet_sm90_qqtst_128x256_128x4_1x2_h_bz_coopA_TNT"] = 12;
  CHECK(all_of(in_fp8, asked).empty());
  asked.fp8_products = 4;
  CHECK(has_line(all_of(in_fp8, asked), {"12 matrix products in fp8", "4 were planned"}));
  asked.fp8_products = 0;
  CHECK(has_line(all_of(in_fp8, asked), {"12 matrix products in fp8", "0 were planned"}));
}

TEST_CASE("how steps are launched is held against what was asked for") {
  auto eager = as_planned();
  eager.captured = false;
  auto asked = expected;
  asked.captured = false;
  CHECK(all_of(eager, asked).empty());
  CHECK(all_of(eager).find("not replayed") != std::string::npos);
  CHECK(all_of(as_planned(), asked).find("are replayed") != std::string::npos);
}

TEST_CASE("updates left at the end and activations that stay on the device are named") {
  auto asked = expected;
  asked.update_launches = 5;
  asked.offloaded_bytes = 1000;
  CHECK(all_of(as_planned(), asked).find("5 were planned (optimizer.update_in_backward: true)") !=
        std::string::npos);
  CHECK(all_of(as_planned(), asked).find("at least 1000 were planned") != std::string::npos);
  auto e = as_planned();
  e.kernels
      ["_ZN6trainx7kernels12_GLOBAL__N_112adamw_kernelINS0_12SplitWeightsEEEvNS0_10AdamWTableENS0_"
       "12AdamWScalarsENS0_13AdamWSettingsE"] = 5;
  e.bytes_to_host = 1000, e.bytes_from_host = 900;  // some does not come back
  CHECK(all_of(e, asked).find("900 bytes are copied") != std::string::npos);
  e.bytes_from_host = 1000;
  CHECK(all_of(e, asked).empty());
}

TEST_CASE(
    "an optimizer that was to be on the host and is not, or in part, is named, and one that is "
    "there unasked") {
  auto asked = expected;
  asked.host_updates = 3;
  asked.gradients_out_bytes = 4000;
  asked.weights_back_bytes = 2000;
  CHECK(all_of(as_planned(), asked).find("0 were planned (memory.optimizer_offload)") !=
        std::string::npos);
  CHECK(all_of(as_planned(), asked).find("3 were planned (memory.optimizer_offload") !=
        std::string::npos);
  auto e = as_planned();
  std::erase_if(e.kernels,
                [](const auto& k) { return k.first.find("adamw_kernel") != std::string::npos; });
  e.host_updates = 3;
  e.bytes_to_host = 4000, e.bytes_from_host = 2000;
  CHECK(all_of(e, asked).empty());
  e.bytes_to_host = 3999;
  CHECK(all_of(e, asked).find("at least 4000 were planned") != std::string::npos);
  e.bytes_to_host = 4000, e.bytes_from_host = 1999;
  CHECK(all_of(e, asked).find("at least 2000 were planned") != std::string::npos);
  e.bytes_from_host = 2000, e.host_updates = 2;
  check_sentence("attestation.host_updates", all_of(e, asked));
  auto unasked = as_planned();
  unasked.host_updates = 3;
  check_sentence("attestation.host_updates_unasked", all_of(unasked));
}

TEST_CASE("gradients that were to leave as bf16 and do not are named") {
  auto asked = expected;
  asked.host_updates = asked.gradients_rounded = 3;
  asked.gradients_out_bytes = 2000;
  auto e = as_planned();
  std::erase_if(e.kernels,
                [](const auto& k) { return k.first.find("adamw_kernel") != std::string::npos; });
  e.host_updates = 3;
  e.bytes_to_host = 4000;
  check_sentence("attestation.gradients_rounded", all_of(e, asked));
  // back to fp32
  e.kernels["_ZN6trainx7kernels12_GLOBAL__N_111cast_kernelIfNS0_4Bf16ELb1EEEvPT_PKT0_l"] = 3;
  check_sentence("attestation.gradients_rounded", all_of(e, asked));
  e.kernels["_ZN6trainx7kernels12_GLOBAL__N_111cast_kernelINS0_4Bf16EfLb1EEEvPT_PKT0_l"] = 2;
  CHECK(has_line(all_of(e, asked), {"2 ", "3 were planned", "memory.optimizer_offload.gradients"}));
  ++e.kernels["_ZN6trainx7kernels12_GLOBAL__N_111cast_kernelINS0_4Bf16EfLb0EEEvPT_PKT0_l"];
  CHECK(all_of(e, asked).empty());
}

TEST_CASE("weights that were to come from the host and do not, or in part, are named") {
  auto asked = expected;
  asked.parameters_in_bytes = 4000;
  asked.parameters_out_bytes = 2000;
  auto e = as_planned();
  e.bytes_from_host = 4000, e.bytes_to_host = 2000;
  CHECK(all_of(e, asked).empty());
  e.bytes_from_host = 3999;
  check_sentence("attestation.parameters_in", all_of(e, asked));
  e.bytes_from_host = 4000, e.bytes_to_host = 1999;
  check_sentence("attestation.parameters_out", all_of(e, asked));
  asked.weights_on_disk = true;
  CHECK(has_line(all_of(e, asked), {"1999 ", "2000 ", "(memory.parameter_offload: disk)"}));
}

TEST_CASE("an optimizer over any other weights than those that were asked for is named") {
  const std::vector<std::string> kinds{"Fp32Weights",   "Bf16Weights",  "StochasticWeights",
                                       "MasterWeights", "SplitWeights", "HalfWeights"};
  for (const std::string& asked : kinds)
    for (const std::string& ran : kinds) {
      auto c = expected;
      c.weights = asked;
      auto e = as_planned();
      std::erase_if(e.kernels, [](const auto& k) {
        return k.first.find("adamw_kernel") != std::string::npos;
      });
      e.kernels["_ZN6trainx7kernels12_GLOBAL__N_112adamw_kernelINS0_" + std::to_string(ran.size()) +
                ran + "EEEvNS0_11UpdateTableE"] = 1;
      INFO(asked << " asked for, " << ran << " ran");
      CHECK(all_of(e, c).empty() == (asked == ran));
    }
}

TEST_CASE("each sabotage of a step is named") {
  CHECK(all_of({}).find("CUDA graph") != std::string::npos);
  auto math = as_planned();  // attention as products and a softmax
  std::erase_if(math.kernels,
                [](const auto& k) { return k.first.find("sdpa") != std::string::npos; });
  math.kernels["void softmax_warp_forward<c10::BFloat16>"] = 4;
  math.kernels["nvjet_sm90_tst_64x64"] = 24;
  CHECK(has_line(all_of(math), {"fused attention ", "4 were planned"}));
  auto dropped = as_planned();  // the master
  std::erase_if(dropped.kernels,
                [](const auto& k) { return k.first.find("SplitWeights") != std::string::npos; });
  dropped.kernels["_ZN6trainx7kernels12_GLOBAL__N_112adamw_kernelINS0_11Bf16WeightsEEE"] = 1;
  CHECK(all_of(dropped).find("SplitWeights") != std::string::npos);
  auto full = expected;  // checkpointing ignored
  full.attention_forward = 8;
  full.products_recomputed = true;
  CHECK(all_of(as_planned(), full).find("8 were planned") != std::string::npos);
  CHECK(all_of(as_planned(), full).find("more than 20") != std::string::npos);
  auto selective = expected;
  selective.norms_recomputed = 8;
  selective.activation_checkpoint = "selective";
  check_sentence("attestation.norms", all_of(as_planned(), selective));
  auto one_less = as_planned();
  --one_less.kernels["nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_TNT"];
  CHECK(all_of(one_less).find("19 matrix products") != std::string::npos);
}

namespace {

// Launches of forward and backward in the names that each kind's kernels have; those beside them
// prepare and finish.
using Kernels = std::map<std::string, std::int64_t>;
const std::map<AttentionKind, Kernels> kernels_of{
    {AttentionKind::cudnn,
     {{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x64_4x1x1_kernel0_"
       "0",
       4},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_5_64x64x64_1x4x1_kernel0_"
       "0",
       4}}},
    {AttentionKind::automatic,
     {{"_ZN6trainx7kernels16attention_kernelINS0_7ForwardILi64EfLi3ELi1EEEJPKfNS0_7LengthsEPfS6_"
       "NS0_14AttentionShapeEEEEvDpT0_",
       4},
      {"_ZN6trainx7kernels16attention_kernelINS0_16KeyValueGradientILi64EfLi3ELi1EEEJPKfNS0_"
       "7LengthsES4_S4_PfS4_NS0_14AttentionShapeEEEEvDpT0_",
       4}}},
    {AttentionKind::flash,
     {{"_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_"
       "traitsILi64ELi128ELi128ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_traitsEEvNS_"
       "16Flash_fwd_paramsE",
       4},
      {"_ZN13pytorch_flash27flash_bwd_dot_do_o_kernelILb1E23Flash_bwd_kernel_"
       "traitsILi64EN7cutlass10bfloat16_tEEEEvNS_16Flash_bwd_paramsE",
       4},
      {"_ZN13pytorch_flash44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_kernel_"
       "traitsILi64EN7cutlass10bfloat16_tEEEEvNS_16Flash_bwd_paramsE",
       4},
      {"_ZN13pytorch_flash27flash_bwd_convert_dq_kernelI23Flash_bwd_kernel_"
       "traitsILi64EN7cutlass10bfloat16_tEEEEvNS_16Flash_bwd_paramsEi",
       4}}},
    {AttentionKind::efficient,
     {{"_Z38fmha_cutlassF_bf16_aligned_64x64_rf_"
       "sm80N23PyTorchMemEffAttention15AttentionKernelIN7cutlass10bfloat16_tENS0_"
       "4arch4Sm80ELb1ELi64ELi64ELi64ELb1ELb1EE6ParamsE",
       4},
      {"_Z40fmha_cutlassB_bf16_aligned_128x64_k64_"
       "sm80N23PyTorchMemEffAttention23AttentionBackwardKernelIN7cutlass4arch4Sm80ENS0_10bfloat16_"
       "tEE6ParamsE",
       4}}},
    {AttentionKind::math,
     {{"nvjet_sm90_tst_64x64_64x13_1x4_v_bz_TNN", 28},
      {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_", 16}}}};

execute::CapturedKernels by(AttentionKind kind) {
  auto e = as_planned();
  std::erase_if(e.kernels, [](const auto& k) { return k.first.find("sdpa") != std::string::npos; });
  e.kernels.insert(kernels_of.at(kind).begin(), kernels_of.at(kind).end());
  return e;
}

plan::ExpectedKernels asking(AttentionKind kind) {
  auto c = expected;
  c.attention = kind;
  if (kind == AttentionKind::math)
    c.attention_forward = c.attention_backward = 0, c.matrix_products += 4 * (2 + 5);
  return c;
}

}  // namespace

TEST_CASE("whose attention was asked for is whose kernels are seen, and any other's is named") {
  for (const auto& [asked, of_asked] : kernels_of)
    for (const auto& [ran, of_ran] : kernels_of) {
      CAPTURE(name_of(asked), name_of(ran));
      const std::string found = all_of(by(ran), asking(asked));
      // automatic: cuDNN's, or trainx's own as here
      const bool may = asked == ran ||
                       (asked == AttentionKind::automatic && ran == AttentionKind::cudnn);
      CHECK(found.empty() == may);
      if (may) continue;
      if (asked != AttentionKind::math) {
        CHECK(has_line(found, {"0 ", "fused attention ", "4 were planned"}));
        CHECK(has_line(found, {"0 ", "fused attention's backward", "4 were planned"}));
      }
      if (asked != AttentionKind::automatic && ran != AttentionKind::math)
        CHECK(has_line(found, {"'s fused attention", "0 were planned",
                               "(model.attention: " + std::string(name_of(asked)) + ")"}));
      if ((asked == AttentionKind::math) != (ran == AttentionKind::math))
        CHECK(found.find("matrix products") != std::string::npos);
    }
}

TEST_CASE(
    "attention inside documents is that of the kernels that look at documents, and of no others") {
  auto asked = expected;
  asked.documents = true;
  auto own = by(AttentionKind::math);
  std::erase_if(own.kernels,
                [](const auto& k) { return k.first.find("64x13") != std::string::npos; });
  own.kernels
      ["_ZN6trainx7kernels16attention_kernelINS0_7ForwardILi64ENS0_4Bf16ELi1ELi1EEEJPKS3_NS0_"
       "9DocumentsEPS3_PfNS0_14AttentionShapeEEEEvDpT0_"] = 4;
  own.kernels
      ["_ZN6trainx7kernels16attention_kernelINS0_16KeyValueGradientILi64ENS0_4Bf16ELi1ELi1EEEJPKS3_"
       "NS0_9DocumentsEPKfS6_PS3_S8_NS0_14AttentionShapeEEEEvDpT0_"] = 4;
  CHECK(all_of(own, asked).empty());
  CHECK(has_line(all_of(own, expected), {"0 ", "fused attention ", "4 were planned"}));
  CHECK(has_line(
      all_of(by(AttentionKind::automatic), asked),
      {"8 ", "trainx's ", "0 were planned", "(model.attention: auto, data.packed: true)"}));
  check_sentence("attestation.documents", all_of(as_planned(), asked));
}

TEST_CASE("attention of grouped heads is that of kernels of their own, packed or not") {
  const std::string part = "JPKS3_NS0_7GroupedILb0EEEPS3_PfNS0_14AttentionShapeEEEEvDpT0_",
                    forward = "_ZN6trainx7kernels16attention_kernelINS0_7ForwardILi64EE",
                    backward = "_ZN6trainx7kernels16attention_kernelINS0_16KeyValueGradientILi64EE",
                    whole = "JPKS3_NS0_7LengthsEPS3_PfNS0_14AttentionShapeEEEEvDpT0_";
  auto own = by(AttentionKind::math);
  std::erase_if(own.kernels,
                [](const auto& k) { return k.first.find("64x13") != std::string::npos; });
  own.kernels[forward + part] = 4, own.kernels[backward + part] = 4;
  auto asked = expected;
  for (const bool documents : {false, true}) {
    asked.documents = documents;
    CHECK(all_of(own, asked).empty());
  }
  own.kernels[forward + part] = 3;
  CHECK(has_line(all_of(own, asked), {"3 ", "fused attention ", "4 were planned"}));
  // layers with windows and layers without
  asked.documents = false;
  own.kernels[backward + part] = 3;
  own.kernels[forward + whole] = 1, own.kernels[backward + whole] = 1;
  CHECK(all_of(own, asked).empty());
}

TEST_CASE("layers with windows of several widths may be several of cuDNN's kernels") {
  auto seen = as_planned();
  auto asked = expected;
  const auto split = [&](const std::string& part) {
    const auto kernel = std::ranges::find_if(
        seen.kernels, [&](const auto& k) { return k.first.find(part) != std::string::npos; });
    --kernel->second;
    seen.kernels[kernel->first + "_of_a_window"] = 1;
  };
  split("fprop"), split("bprop");
  CHECK(has_line(all_of(seen, asked), {"3 ", "fused attention ", "4 were planned"}));
  asked.mixed_windows = true;
  CHECK(all_of(seen, asked).empty());
  asked.attention_forward = 5;
  CHECK(has_line(all_of(seen, asked), {"3 ", "fused attention ", "5 were planned"}));
}

TEST_CASE("attention that is another's in one layer alone is found out") {
  auto mixed = by(AttentionKind::flash);
  for (auto& [name, count] : mixed.kernels)
    if (name.find("pytorch_flash") != std::string::npos) count = 3;
  mixed.kernels
      ["cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x64_4x1x1_kernel0_"
       "0"] = 1;
  mixed.kernels
      ["cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_5_64x64x64_1x4x1_kernel0_"
       "0"] = 1;
  check_sentence("attestation.one_layer", all_of(mixed, asking(AttentionKind::flash)));
}

}  // namespace attestation_test
