// nanochat.
#include "architectures/families/family.hpp"

namespace trainx::architectures {
namespace {

/// Norms have no weights; pairs turn the other way; logits are capped.
void nanochat(FamilyReader& r, DecoderDims& d) {
  r.sizes({.default_activation = "relu2"});
  r.epsilon("rms_norm_eps", 1e-6);
  d.norm_weight = d.head_norm_weight = false;
  d.norms_embedding = true;
  r.attention_bias();
  r.plain_mlp({"mlp.fc1"}, "mlp.fc2");
  r.rope();
  d.rope_direction = -1;
  r.head_norms(DecoderDims::HeadNorms::head);
  d.norms_after_rope = true;
  if (!r.file().is_null("final_logit_softcapping"))
    d.logit_cap = r.positive_number("final_logit_softcapping", 15);
}

}  // namespace

std::vector<Family> nanochat_families() {
  return {
      {"nanochat",
       "nanochat: RMSNorm without weights, a squared ReLU, capped logits",
       nanochat,
       {{"d12", R"({"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                    "num_attention_heads": 6, "num_key_value_heads": 6, "vocab_size": 50304,
                    "max_position_embeddings": 2048})"}}},
  };
}

}  // namespace trainx::architectures
