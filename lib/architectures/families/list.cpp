#include "architectures/families/family.hpp"
#include <algorithm>

namespace trainx::architectures {

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> out;
    for (auto list : {llama_families, qwen_families, gemma_families, phi_families, olmo_families,
                      cohere_families, glm_families, gpt_neox_families, granite_families,
                      starcoder_families, stablelm_families, nemotron_families, nanochat_families,
                      opt_families, bloom_families, deepseek_families})
      std::ranges::move(list(), std::back_inserter(out));
    return out;
  }();
  return all;
}

const Family* find_family(std::string_view name) {
  const auto found = std::ranges::find(families(), name, &Family::name);
  return found == families().end() ? nullptr : &*found;
}

}  // namespace trainx::architectures
