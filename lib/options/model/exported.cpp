#include "options/model/exported.hpp"
#include <string>

namespace trainx::options {

CustomOptions exported_options() {
  return {std::string(exported_name),
          "Any Hugging Face model that scripts/trainx-export wrote, from model.init_from",
          {{"task",
            Choice{"causal_lm", {"causal_lm", "masked_lm", "classification", "seq2seq"}},
            {},
            "what the model was exported for"}}};
}

bool is_exported(const CustomOptions& options) { return options.name == exported_name; }

}  // namespace trainx::options
