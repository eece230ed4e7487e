// A family of decoders: how its config.json reads. All there are: list.cpp.
#pragma once
#include "architectures/config_reader.hpp"
#include "architectures/decoder.hpp"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::architectures {

/// The activation that transformers calls `value`, which the key has.
operations::Activation activation_named(const ConfigReader& file, const char* key,
                                        const nlohmann::json& value);

/// Settings that families have in common, under the keys that most of them use. What is absent
/// means what it means for transformers.
class FamilyReader {
 public:
  FamilyReader(const ConfigReader& file, DecoderDims& dims) : file_(file), d_(dims) {}

  const ConfigReader& file() const { return file_; }
  struct Keys {
    const char *layers = "num_hidden_layers", *heads = "num_attention_heads",
               *hidden = "hidden_size", *positions = "max_position_embeddings";
    const char* intermediate = "intermediate_size";  // null: 4 * hidden_size
    std::int64_t max_positions = 2048;
    std::int64_t key_value_heads = 0;  // 0: as many as heads
    std::int64_t head_size = 0;        // 0: hidden_size / heads
    bool tied = false;
    const char* activation = "hidden_act";
    const char* default_activation = "silu";
    double attention_dropout = 0;
  };
  void sizes(const Keys& keys);
  void epsilon(const char* key, double otherwise);
  /// LayerNorm; else families have RMSNorm.
  void layer_norm(bool weight, bool shift);
  bool flag(const char* key, bool otherwise) const { return file_.flag(key, otherwise); }
  double positive_number(const char* key, double otherwise) const;
  /// One kind of rope in all layers.
  void rope(const RopeDefaults& defaults = {});
  /// Layers that slide (layer_types; else the pattern: every `pattern`-th does not).
  std::vector<bool> sliding(std::int64_t pattern) const;
  /// `sliding`: the layers that have sliding_window; there is none if it is null or absent.
  void windows(const std::vector<bool>& sliding, std::int64_t otherwise = 0);
  void windows_everywhere(std::int64_t otherwise = 0);
  /// Latent attention and its rope; `usual`: sizes that are absent.
  void latent_attention(const Latent& usual);
  struct ExpertKeys {
    // spellings of the key
    std::vector<const char*> count = {"n_routed_experts", "num_local_experts"};
    std::int64_t usual_count = 0;                    // where the file has none; 0: it must have one
    std::int64_t usual_per_token = 0;                // likewise
    const char* features = "moe_intermediate_size";  // null: as wide as an MLP
    std::int64_t usual_features = 0;
    operations::Router router = {};
    // of the loss that transformers adds where output_router_logits asks for it; none: it adds none
    std::optional<double> usual_loss = {};
  };
  /// Experts in these layers, if there are such layers.
  void experts(const ExpertKeys& keys, std::vector<char> layers);
  /// Experts of DeepSeek and its kin in layers from first_k_dense_replace on: groups and a scale of
  /// the router, and one expert for all tokens, as wide as n_shared_experts others.
  struct GroupedExperts {
    ExpertKeys keys;
    std::int64_t usual_dense = 0, usual_shared = 0;  // 0 shared: the file must say
    bool corrects = true;                            // sigmoids, with a correction of the choice
    bool groups = true;                              // else n_group and topk_group mean nothing
    bool later_layers = false;  // folders hold some to predict tokens further ahead
  };
  void grouped_experts(GroupedExperts usual);
  /// Biases of all products of attention.
  void attention_bias(bool otherwise = false);
  /// Granite's multipliers, biases of attention and rope.
  void granite_scalars();
  void mlp_bias(bool otherwise = false) { d_.mlp_bias = flag("mlp_bias", otherwise); }
  void dropout(const char* key, double otherwise = 0);
  /// A dropout that trainx leaves out, which remarks_of says.
  void left_out_dropout(const char* key);
  void plain_mlp(std::vector<std::string> up, std::string down);
  void head_norms(DecoderDims::HeadNorms kind) { d_.head_norms = kind; }
  /// The norms follow the branches' results.
  void norms_after_only();
  void norms_around(const std::string& norm2);

 private:
  const ConfigReader& file_;
  DecoderDims& d_;
};

struct Family {
  std::string_view name, summary;
  void (*read)(FamilyReader&, DecoderDims&);
  /// Published sizes: name, and what config.json says. The first is the default.
  std::vector<std::pair<std::string_view, std::string_view>> sizes;
};
const std::vector<Family>& families();
const Family* find_family(std::string_view name);

// One list a file of families.
std::vector<Family> llama_families();
std::vector<Family> mistral_families();
std::vector<Family> smollm3_families();
std::vector<Family> arcee_families();
std::vector<Family> seed_oss_families();
std::vector<Family> helium_families();
std::vector<Family> ernie_families();
std::vector<Family> hunyuan_families();
std::vector<Family> exaone_families();
std::vector<Family> qwen_families();
std::vector<Family> gemma_families();
std::vector<Family> phi_families();
std::vector<Family> olmo_families();
std::vector<Family> cohere_families();
std::vector<Family> glm_families();
std::vector<Family> gpt_neox_families();
std::vector<Family> granite_families();
std::vector<Family> starcoder_families();
std::vector<Family> stablelm_families();
std::vector<Family> nemotron_families();
std::vector<Family> nanochat_families();
std::vector<Family> opt_families();
std::vector<Family> bloom_families();
std::vector<Family> deepseek_families();
std::vector<Family> mixture_families();

}  // namespace trainx::architectures
