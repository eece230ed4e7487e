#include "core/error.hpp"
#include "core/suggest.hpp"
#include "imports/import.hpp"
#include "imports/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include "architectures/architecture.hpp"
#include "options/model/published.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::imports {

namespace fs = std::filesystem;

void choose_model(Choices& choices, const std::string& model) {
  std::error_code error;
  if (fs::is_directory(model, error)) {
    const architectures::ModelDims dims = architectures::read_config(model);
    choices.model_type = std::string(architectures::architecture_name(dims));
    choices.init_from = model;
    choices.max_positions = architectures::max_positions(dims);
    read_folder(choices, model);
    return;
  }
  const auto types = model_types();
  if (std::ranges::count(types, model) == 0)
    throw UserError(ExitCode::input_missing,
                    "--model: there is no folder " + yaml::excerpt(model) +
                        ", nor a model of that type (docs/models.md has all)" +
                        did_you_mean(model, types) + "; trainx downloads nothing");
  choices.model_type = model;
  recipe::for_each_alternative(options::ModelOptions{}, [&](const auto& options) {
    if constexpr (requires { published_sizes(options); }) {
      if (options.name == model)
        choices.max_positions = published_sizes(options).front().max_positions;
    }
  });
}

void choose_data(Choices& choices, const std::string& data) {
  if (data == "stories") {
    choices.data_type = data;
    return;
  }
  std::error_code error;
  if (!fs::exists(data, error))
    throw UserError(ExitCode::input_missing,
                    "--data: there is no file " + yaml::excerpt(data) + "; stories is built in");
  const std::string ending = fs::path(data).extension().string();
  choices.data_type = ending == ".bin"                                           ? "tokens"
                      : ending == ".jsonl" || ending == ".json"                  ? "jsonl"
                      : ending == ".csv" || ending == ".tsv" || ending == ".tab" ? "csv"
                                                                                 : "text";
  choices.train = data;
}

}  // namespace trainx::imports
