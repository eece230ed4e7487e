// Other tools' settings become a recipe: Hugging Face's TrainingArguments, DeepSpeed's and
// Accelerate's configuration, recipes of Axolotl and torchtune.
#pragma once
#include "imports/draft.hpp"
#include <cstdint>

namespace trainx::imports {

struct SourceFile {
  std::string name, text;
};

/// What those files cannot say.
struct Choices {
  using Values = std::vector<std::pair<std::string, Value>>;
  std::optional<std::int64_t> world;  // processes; nothing: what the files say, else 1
  std::optional<std::string> model_type;
  std::optional<std::string> init_from;       // a Hugging Face folder
  std::optional<std::int64_t> max_positions;  // of the model
  Values folder_values;                       // model.options that its config.json implies
  std::vector<Leftover> folder_leftovers;
  std::optional<std::string> data_type, train, eval;
  std::optional<std::int64_t> sequence_length;
};

/// A folder with a config.json, or the type of a model. Throws UserError 66, 65.
void choose_model(Choices& choices, const std::string& model);
/// Fills in what config.json in `folder`, of a model of `choices.model_type`, says of training:
/// dropouts, and classes if it is a classifier. Throws UserError 65, 66.
void read_folder(Choices& choices, const std::string& folder);
/// A file, its type by its ending, or `stories`. Throws UserError 66.
void choose_data(Choices& choices, const std::string& data);

struct Imported {
  std::string recipe;  // commented: where each value is from, what is not mapped
  std::vector<Leftover> leftovers;
  std::vector<std::pair<std::string, std::string>>
      asked;  // keys without a value, which `trainx validate` names, each with what belongs there
};

/// Each file once, in any order. Throws UserError 65, one sentence with file and place; what trainx
/// would refuse of a value is left to `validate`.
Imported import_settings(const std::vector<SourceFile>& files, const Choices& choices);

}  // namespace trainx::imports
