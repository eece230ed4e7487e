#include "operations/attention/attention_kernels_spec.hpp"

namespace trainx::operations {

const std::vector<FusedAttention>& fused_attention() {
  static const std::vector<FusedAttention> all{
      {"cuDNN",
       {"sdpa", "fprop"},
       {"sdpa", "bprop"},
       {AttentionKind::automatic, AttentionKind::cudnn}},
      {"trainx",
       {"6hopper", "14forward_kernel"},
       {"6hopper", "15backward_kernel"},
       {AttentionKind::automatic},
       std::nullopt},
      {"trainx",
       {"attention_kernel", "7Forward", "7Lengths"},
       {"attention_kernel", "16KeyValueGradient", "7Lengths"},
       {AttentionKind::automatic}},
      {"trainx",
       {"attention_kernel", "7Forward", "6Nearby"},
       {"attention_kernel", "16KeyValueGradient", "6Nearby"},
       {AttentionKind::automatic}},
      {"trainx",
       {"attention_kernel", "7Forward", "6Across"},
       {"attention_kernel", "16KeyValueGradient", "6Across"},
       {AttentionKind::automatic}},
      {"trainx",
       {"attention_kernel", "7Forward", "9Documents"},
       {"attention_kernel", "16KeyValueGradient", "9Documents"},
       {AttentionKind::automatic},
       true},
      {"trainx",
       {"attention_kernel", "7Forward", "7Grouped"},
       {"attention_kernel", "16KeyValueGradient", "7Grouped"},
       {AttentionKind::automatic},
       std::nullopt},
      {"flash", {"flash_fwd"}, {"flash_bwd"}, {AttentionKind::flash}},
      {"efficient", {"fmha_cutlassF"}, {"fmha_cutlassB"}, {AttentionKind::efficient}}};
  return all;
}

}  // namespace trainx::operations
