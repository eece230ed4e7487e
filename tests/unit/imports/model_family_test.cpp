#include "imports/model_family.hpp"
#include "support/catch.hpp"

namespace trainx::imports::model_family_test {

TEST_CASE("the family of a model is told by its name") {
  for (const auto& [name, family] : std::vector<std::pair<std::string, std::string>>{
           {"meta-llama/Llama-3.2-1B", "llama"},
           {"torchtune.models.llama3_2.lora_llama3_2_1b", "llama"},
           {"TinyLlama/TinyLlama_v1.1", "tinyllama"},
           {"LlamaForCausalLM", "llama"},
           {"mistralai/Mixtral-8x7B-v0.1", "mixtral"},
           {"Qwen/Qwen2.5-0.5B", "qwen"},
           {"openai-community/gpt2-medium", "gpt2"},
           {"distilbert-base-uncased", "distilbert"},
           {"FacebookAI/roberta-base", "roberta"},
           {"google-bert/bert-base-cased", "bert"},
           {"me/my-prompt-model", ""},
           {"./outputs/next", ""},
           {"", ""}}) {
    INFO(name);
    CHECK(family_of(name) == family);
  }
}

}  // namespace trainx::imports::model_family_test
