#include "core/error.hpp"
#include "architectures/config_reader.hpp"
#include "architectures/custom_json.hpp"
#include "architectures/exported.hpp"

namespace trainx::architectures {

using nlohmann::json;

std::string custom_config_text(const CustomDims& d, DType saved) {
  const char* dtype = saved == DType::f32 ? "float32" : saved == DType::bf16 ? "bfloat16" : nullptr;
  if (!dtype) throw InternalError("custom_config_text: weights are saved as f32 or bf16");
  if (!export_config(d.options).empty()) return exported_config_text(d, dtype);
  std::string task;
  for (const auto& [value, name] : enum_names(d.task))
    if (value == d.task) task = name;
  const json config{{"model_type", d.options.name},
                    {"options", option_values(d.options)},
                    {"task", task},
                    {"vocab_size", d.vocab_size},
                    {"max_positions", d.max_positions},
                    {"num_labels", d.num_labels},
                    {"torch_dtype", dtype}};
  return config.dump(2) + "\n";
}

std::optional<CustomDims> custom_dims_from_config(const std::string& text,
                                                  const std::string& path) {
  const ConfigReader config(text, path);
  if (auto exported = exported_dims(config, text)) return exported;
  const json* type = config.find("model_type");
  if (!type || !type->is_string()) return std::nullopt;
  for (const CustomOptions& model : described_models()) {
    if (model.name != type->get<std::string>()) continue;
    CustomDims dims{model};
    const json* options = config.find("options");
    if (!options) config.fail("options is missing");
    if (const std::string problem = set_option_values(dims.options, *options); !problem.empty())
      config.fail(problem);
    dims.task = task(dims.options);
    const json* vocabulary = config.find("vocab_size");
    // 0: it reads no tokens
    if (!vocabulary || *vocabulary != 0) dims.vocab_size = config.dimension("vocab_size");
    dims.max_positions = config.dimension("max_positions");
    if (dims.task == Task::classification) dims.num_labels = config.dimension("num_labels");
    return dims;
  }
  return std::nullopt;
}

}  // namespace trainx::architectures
