#include "architectures/folder_config.hpp"
#include "architectures/families/family.hpp"
#include <algorithm>

namespace trainx::architectures {

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> out;
    for (auto list : {llama_families,    mistral_families,   smollm3_families,  arcee_families,
                      seed_oss_families, helium_families,    ernie_families,    hunyuan_families,
                      exaone_families,   qwen_families,      gemma_families,    phi_families,
                      olmo_families,     cohere_families,    glm_families,      gpt_neox_families,
                      granite_families,  starcoder_families, stablelm_families, nemotron_families,
                      nanochat_families, opt_families,       bloom_families,    deepseek_families,
                      mixture_families})
      std::ranges::move(list(), std::back_inserter(out));
    return out;
  }();
  return all;
}

const Family* find_family(std::string_view name) { return family_or_null(families(), name); }

}  // namespace trainx::architectures
