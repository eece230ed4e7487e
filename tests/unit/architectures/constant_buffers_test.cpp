#include "architectures/constant_buffers.hpp"
#include "architectures/architecture.hpp"
#include "options/model/published.hpp"
#include "support/catch.hpp"

namespace constant_buffers_test {

using namespace trainx;
using namespace trainx::architectures;

namespace {

template <class Options>
void no_parameter_is_constant(const Options& o) {
  for (const auto& [size, dims] : sizes(o))
    for (const auto& group : graph_of(dims, 1, 1, DType::f32).groups)
      for (const auto& p : group.parameters) {
        INFO(o.name << " " << size << ": " << p.name);
        CHECK(!is_constant_buffer(p.name));
      }
}

}  // namespace

TEST_CASE("constant buffers of folders are no parameters of a model") {
  const ModelDims dims = Gpt2Dims{};
  for (const char* name :
       {"h.3.attn.bias", "transformer.h.3.attn.masked_bias", "gpt_neox.layers.0.attention.bias",
        "gpt_neox.layers.0.attention.masked_bias", "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.rotary_emb.original_inv_freq", "model.layers.0.self_attn.rotary_emb.cos_cached",
        "embeddings.position_ids", "bert.embeddings.position_ids", "bert.embeddings.token_type_ids",
        "model.causal_mask", "model.encoder.version"})
    CHECK(parameter_name(dims, name).empty());
  for (const char* name :
       {"transformer.h.0.attn.c_attn.bias", "h.0.lattn.bias", "optimizer.exp_avg",
        "model.layers.0.self_attn.q_proj.weight_scale", "model.layers.0.mlp.up_proj.qweight",
        "v_head.summary.weight", "embeddings.position_ids.weight"})
    CHECK(!parameter_name(dims, name).empty());
}

TEST_CASE("no parameter of a family has the name of a constant buffer") {
  no_parameter_is_constant(options::Gpt2Options{});
  for (const auto& o : options::BertOptions::described()) no_parameter_is_constant(o);
  for (const auto& o : options::DecoderOptions::described()) no_parameter_is_constant(o);
  for (const auto& o : options::Seq2SeqOptions::described()) no_parameter_is_constant(o);
}

}  // namespace constant_buffers_test
