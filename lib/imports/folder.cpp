// What the config.json of a Hugging Face folder says of training, in the keys of recipes.
#include "core/files.hpp"
#include "core/number.hpp"
#include "core/json_text.hpp"
#include "imports/import.hpp"
#include "imports/registry.hpp"
#include "architectures/architecture.hpp"
#include "architectures/config_reader.hpp"
#include "architectures/families/encoder_family.hpp"

namespace trainx::imports {
namespace {

class Folder {
 public:
  Folder(Choices& choices, const std::string& path)
      : choices_(choices), path_(path), config_(read_json_text(path), path) {}

  void read_dropouts() {
    if (*choices_.model_type == "gpt2") {
      dropout("dropout", "resid_pdrop");
      same_as("embd_pdrop", "resid_pdrop");
      dropout("attention_dropout", "attn_pdrop");
    } else if (has_model_option(*choices_.model_type, "task")) {
      const auto keys = architectures::encoder_family(*choices_.model_type).dropouts;
      dropout("dropout", keys.hidden);
      if (config_.find(keys.classifier)) same_as(keys.classifier, keys.hidden);
      dropout("attention_dropout", keys.attention);
    }
  }

  void read_classes(const architectures::ModelDims& dims) {
    const architectures::Task task = architectures::task(dims);
    if (!architectures::has_labels(task)) return;
    set("task", std::string(architectures::name_of(task)), "architectures");
    set("num_labels", std::to_string(architectures::num_labels(dims)), "num_labels");
  }

 private:
  static constexpr double usual = 0.1;  // transformers', of a key that is missing

  double rate(const char* key) const { return config_.number(key, usual, options::fraction()); }

  void set(const std::string& option, std::string yaml, const std::string& key) {
    Value value{std::move(yaml), {}, path_ + ": " + key, Weight::assumed};
    choices_.folder_values.emplace_back("model.options." + option, std::move(value));
  }

  void dropout(const std::string& option, const char* key) {
    const std::string suffix = config_.find(key) ? "" : " (default of transformers)";
    set(option, shortest(rate(key)), key + suffix);
  }

  void same_as(const char* key, const char* other) {
    if (rate(key) != rate(other))
      leave(key, "model.options.dropout is that of " + std::string(other));
  }

  void leave(const char* key, const std::string& why) {
    choices_.folder_leftovers.push_back({{path_}, key, shortest(rate(key)), why, true});
  }

  Choices& choices_;
  std::string path_;
  architectures::ConfigReader config_;
};

}  // namespace

void read_folder(Choices& choices, const std::string& folder) {
  Folder reader(choices, folder + (folder.ends_with('/') ? "" : "/") + "config.json");
  reader.read_dropouts();
  reader.read_classes(architectures::read_config(folder));
}

}  // namespace trainx::imports
