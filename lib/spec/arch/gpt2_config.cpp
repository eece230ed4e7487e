#include "spec/arch/gpt2_config.hpp"
#include "core/error.hpp"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace trainx::spec {

using nlohmann::json;

namespace {

/// A value as a sentence shows it. Lists and objects are named only: they may be nested deeper than writing them out has stack for.
std::string shown(const json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

/// Reads keys of one config.json; every complaint names the file and the key.
class ConfigReader {
 public:
  ConfigReader(const std::string& text, const std::string& path) : path_(path) {
    try {
      config_ = json::parse(text);
    } catch (const json::parse_error& e) {
      throw UserError(ExitCode::bad_data, path + " is not JSON (byte " + std::to_string(e.byte) + "); it must be the config.json of a GPT-2 model");
    } catch (const json::out_of_range&) {   // 1e999
      throw UserError(ExitCode::bad_data, path + " has a number that is too large; it must be the config.json of a GPT-2 model");
    }
    if (!config_.is_object()) fail("it must be a JSON object");
  }

  [[noreturn]] void fail(const std::string& what) const { throw UserError(ExitCode::bad_data, path_ + ": " + what); }

  /// Null counts as absent, as it does for transformers.
  const json* find(const char* key) const {
    const auto it = config_.find(key);
    return it == config_.end() || it->is_null() ? nullptr : &*it;
  }

  std::int64_t dimension(const char* key, std::optional<std::int64_t> otherwise = {}) const {
    const json* j = find(key);
    if (!j && otherwise) return *otherwise;
    if (!j) fail(std::string(key) + " is missing");
    if (!j->is_number_integer() || j->get<std::int64_t>() < 1 || j->get<std::int64_t>() > (std::int64_t{1} << 31))
      fail(std::string(key) + " is " + shown(*j) + "; it must be a whole number of at least 1");
    return j->get<std::int64_t>();
  }

  double number(const char* key, double otherwise, const Limits& limits) const {
    const json* j = find(key);
    if (!j) return otherwise;
    if (!j->is_number() || !limits.contains(j->get<double>())) fail(std::string(key) + " is " + shown(*j) + "; it must be " + limits.says);
    return j->get<double>();
  }

  /// A setting that must have one of these values (or be absent, which means the first).
  void require(const char* key, const std::vector<json>& supported) const {
    const json* j = find(key);
    if (!j) return;
    for (const json& value : supported)
      if (*j == value) return;
    std::string list;
    for (const json& value : supported) list += (list.empty() ? "" : " or ") + value.dump();
    fail(std::string(key) + " is " + shown(*j) + ", which trainx does not compute; only " + list);
  }

 private:
  std::string path_;
  json config_;
};

}  // namespace

Gpt2Dims gpt2_dims_from_config(const std::string& text, const std::string& path) {
  const ConfigReader config(text, path);
  if (!config.find("model_type")) config.fail("model_type is missing; it must be \"gpt2\"");
  config.require("model_type", {"gpt2"});
  config.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  config.require("scale_attn_weights", {true});
  config.require("scale_attn_by_inverse_layer_idx", {false});
  config.require("reorder_and_upcast_attn", {false});
  config.require("add_cross_attention", {false});
  config.require("tie_word_embeddings", {true});
  Gpt2Dims dims;
  dims.num_layers = config.dimension("n_layer");
  dims.num_heads = config.dimension("n_head");
  dims.hidden_size = config.dimension("n_embd");
  dims.intermediate_size = config.dimension("n_inner", 4 * dims.hidden_size);
  dims.max_positions = config.dimension("n_positions");
  dims.vocab_size = config.dimension("vocab_size");
  dims.layer_norm_epsilon = config.number("layer_norm_epsilon", 1e-5, positive());
  if (dims.hidden_size % dims.num_heads != 0)
    config.fail("n_embd (" + std::to_string(dims.hidden_size) + ") must be a multiple of n_head (" + std::to_string(dims.num_heads) + ")");
  return dims;
}

Gpt2Dims read_gpt2_config(const std::string& folder) {
  const std::string path = folder + "/config.json";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw UserError(ExitCode::input_missing, path + " cannot be read: " + std::strerror(errno) + "; a model folder holds config.json and model.safetensors");
  return gpt2_dims_from_config(text.str(), path);
}

std::string gpt2_config_text(const Gpt2Dims& d, DType saved) {
  const char* dtype = saved == DType::f32 ? "float32" : saved == DType::bf16 ? "bfloat16" : nullptr;
  if (!dtype) throw InternalError("gpt2_config_text: weights are saved as f32 or bf16");
  const json config{{"architectures", {"GPT2LMHeadModel"}},
                    {"model_type", "gpt2"},
                    {"activation_function", "gelu_new"},
                    {"n_layer", d.num_layers},
                    {"n_head", d.num_heads},
                    {"n_embd", d.hidden_size},
                    {"n_inner", d.intermediate_size},
                    {"n_positions", d.max_positions},
                    {"n_ctx", d.max_positions},
                    {"vocab_size", d.vocab_size},
                    {"layer_norm_epsilon", d.layer_norm_epsilon},
                    {"resid_pdrop", d.dropout},
                    {"embd_pdrop", d.dropout},
                    {"attn_pdrop", 0.0},
                    {"initializer_range", d.initializer_range},
                    {"scale_attn_weights", true},
                    {"scale_attn_by_inverse_layer_idx", false},
                    {"reorder_and_upcast_attn", false},
                    {"tie_word_embeddings", true},
                    {"torch_dtype", dtype},
                    // Ids of the beginning and the end of a text; transformers' own default, 50256, lies beyond a small vocabulary.
                    {"bos_token_id", d.vocab_size == 50257 ? json(50256) : json()},
                    {"eos_token_id", d.vocab_size == 50257 ? json(50256) : json()}};
  return config.dump(2) + "\n";
}

}  // namespace trainx::spec
