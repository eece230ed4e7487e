#include "architectures/architecture.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include "architectures/active_parameters.hpp"
#include "architectures/limits.hpp"
#include "architectures/config_reader.hpp"
#include "architectures/constant_buffers.hpp"
#include "architectures/exported.hpp"
#include "architectures/families/family.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include "graph/model.hpp"
#include "graph/to_blocks.hpp"
#include <algorithm>
#include <concepts>
#include <deque>
#include <functional>
#include <tuple>
#include <type_traits>

namespace trainx::architectures {
namespace {

template <class Dims>
constexpr bool packs_as_its_options = requires(Dims d) {
  d.packed;
}
== requires(typename Dims::Options o) { o.packs; };
static_assert(packs_as_its_options<Gpt2Dims> && packs_as_its_options<BertDims> &&
              packs_as_its_options<DecoderDims> && packs_as_its_options<Seq2SeqDims>);

// Models of a user's own answer under the same names as architectures.
program::ModelGraph graph_of(const CustomDims& d, std::int64_t micro_batch_size,
                             std::int64_t length, DType compute,
                             const GraphOptions& graph_options) {
  return custom_graph(d, micro_batch_size, length, compute, graph_options);
}
std::string text_of(const CustomDims& d, DType saved) { return custom_config_text(d, saved); }
void config_keys(ConfigKeys&, CustomDims&) {}
std::vector<std::string> remarks_of(const ConfigReader&, const CustomDims&) { return {}; }
std::string parameter_of(const CustomDims&, std::string_view name) { return std::string(name); }
std::string_view name_of(const CustomDims& d) { return d.options.name; }

std::string text_of(const DecoderDims& d, DType saved) { return decoder_config_text(d, saved); }
void config_keys(ConfigKeys&, DecoderDims&) {}
std::string text_of(const Seq2SeqDims& d, DType saved) { return seq2seq_config_text(d, saved); }
void config_keys(ConfigKeys&, Seq2SeqDims&) {}

template <Transformer Dims>
std::string_view name_of(const Dims& d) {
  return family_of(d);
}

/// The model_type of its folders.
template <Transformer Dims>
std::string_view type_of(const Dims& d) {
  if constexpr (requires { d.num_experts; })
    if (d.num_experts > 0) return gpt2_moe;
  return name_of(d);
}

template <Transformer Dims>
std::string text_of(Dims d, DType saved) {
  if (saved != DType::f32 && saved != DType::bf16)
    throw InternalError(std::string(name_of(d)) + "_config_text: weights are saved as f32 or bf16");
  nlohmann::json config = nlohmann::json::object();
  if constexpr (requires { d.config; })  // what is not read stays as it was
    if (!d.config.empty()) config = nlohmann::json::parse(d.config);
  config["model_type"] = type_of(d);
  config[config.contains("dtype") ? "dtype" : "torch_dtype"] = saved == DType::f32 ? "float32"
                                                                                   : "bfloat16";
  ConfigKeys keys(config);
  config_keys(keys, d);
  return config.dump(2) + "\n";
}

}  // namespace

std::string_view architecture_name(const ModelDims& dims) {
  static_assert(std::variant_size_v<ModelDims> == std::variant_size_v<ModelOptions>,
                "an architecture is missing in one of the lists");
  return std::visit([](const auto& d) { return name_of(d); }, dims);
}

std::int64_t vocab_size(const ModelDims& dims) {
  return std::visit([](const auto& d) { return d.vocab_size; }, dims);
}

std::int64_t max_positions(const ModelDims& dims) {
  return std::visit([](const auto& d) { return d.max_positions; }, dims);
}

Task task(const ModelDims& dims) {
  return std::visit([](const auto& d) { return task(d); }, dims);
}

bool generates(const ModelDims& dims) {
  return (task(dims) == Task::causal_lm || task(dims) == Task::seq2seq) &&
         !std::holds_alternative<CustomDims>(dims);
}

std::int64_t text_positions(const ModelDims& dims) {
  std::int64_t most = max_positions(dims);
  if (const auto* decoder = std::get_if<DecoderDims>(&dims))
    for (const Rope& rope : decoder->ropes)
      if (rope.kind == Rope::Kind::longrope) most = std::min(most, rope.original_positions);
  return most;
}

ModelDims for_evaluation(ModelDims dims) {
  std::visit(
      [](auto& d) {
        if constexpr (requires { d.dropout; }) d.dropout = 0;
        if constexpr (requires { d.attention_dropout; }) d.attention_dropout = 0;
        if constexpr (requires { d.activation_dropout; }) d.activation_dropout = 0;
        if constexpr (requires { d.packed; }) d.packed = false;
      },
      dims);
  return without_capacity(std::move(dims));
}

std::int64_t num_labels(const ModelDims& dims) {
  return std::visit([](const auto& d) { return num_labels(d); }, dims);
}

ProblemType problem_type(const ModelDims& dims) {
  return std::visit([](const auto& d) { return problem_type(d); }, dims);
}

std::int64_t label_values(const ModelDims& dims) {
  return std::visit(
      [](const auto& d) -> std::int64_t {
        if constexpr (Encoder<std::remove_cvref_t<decltype(d)>>) return label_values(d);
        return 0;
      },
      dims);
}

std::int64_t token_types(const ModelDims& dims) {
  return std::visit(
      [](const auto& d) -> std::int64_t {
        if constexpr (requires { d.type_vocab_size; }) return d.type_vocab_size;
        return 0;
      },
      dims);
}

std::optional<Masking> masking(const ModelDims& dims) {
  return std::visit([](const auto& d) { return masking(d); }, dims);
}

std::optional<TargetShift> target_shift(const ModelDims& dims) {
  if (const auto* custom = std::get_if<CustomDims>(&dims)) return target_shift(*custom);
  const auto* d = std::get_if<Seq2SeqDims>(&dims);
  return d ? std::optional(d->shift) : std::nullopt;
}

std::int64_t target_length(const ModelDims& dims, std::int64_t length) {
  if (const auto* custom = std::get_if<CustomDims>(&dims)) return target_length(*custom, length);
  const auto* d = std::get_if<Seq2SeqDims>(&dims);
  return d ? target_length(*d, length) : length;
}

double nominal_targets(const ModelDims& dims, std::int64_t samples, std::int64_t length) {
  const auto n = static_cast<double>(samples);
  if (task(dims) == Task::classification) return n;
  const auto drawn = masking(dims);
  return n * static_cast<double>(target_length(dims, length)) * (drawn ? drawn->probability : 1.0);
}

namespace {

struct KnownGraph {
  ModelDims dims;
  std::tuple<std::int64_t, std::int64_t, DType, GraphOptions> shape;
  program::ModelGraph graph;
};

/// Models of a user's own are not compared.
bool are_equal(const ModelDims& a, const ModelDims& b) {
  return std::visit(
      [&]<class D>(const D& d) {
        if constexpr (std::equality_comparable<D>)
          return std::holds_alternative<D>(b) && std::get<D>(b) == d;
        return false;
      },
      a);
}

}  // namespace

program::ModelGraph model_graph(const ModelDims& dims, std::int64_t micro_batch_size,
                                std::int64_t length, DType compute, GraphOptions graph_options) {
  // Searches ask for the same few graphs again and again.
  constexpr std::size_t most_known = 8;
  thread_local std::deque<KnownGraph> known;
  const std::tuple shape(micro_batch_size, length, compute, graph_options);
  for (const KnownGraph& k : known)
    if (k.shape == shape && are_equal(k.dims, dims)) return k.graph;
  program::ModelGraph graph = std::visit(
      [&](const auto& d) { return graph_of(d, micro_batch_size, length, compute, graph_options); },
      dims);
  if (std::holds_alternative<CustomDims>(dims)) return graph;
  if (known.size() == most_known) known.pop_front();
  known.push_back({dims, shape, graph});
  return graph;
}

void observe_graph_passes(const ModelDims& dims, std::int64_t micro_batch_size, std::int64_t length,
                          DType compute, const GraphOptions& graph_options,
                          const graph::GraphPassObserver& observer) {
  graph::Model model = std::visit(
      [&](const auto& d) { return model_of(d, micro_batch_size, length, compute, graph_options); },
      dims);
  graph::apply_graph_passes(model, graph_options.passes, observer);
}

std::string module_path(const ModelDims& dims, const std::string& name) {
  if (std::holds_alternative<Gpt2Dims>(dims))
    return name.starts_with("lm_head") ? name : "transformer." + name;
  const auto* decoder = std::get_if<DecoderDims>(&dims);
  if (!decoder) return name;
  for (const auto& [in_files, in_class] : decoder->names.in_class) {
    const std::size_t at = ("." + name + ".").find("." + in_files + ".");
    if (at != std::string::npos) return std::string(name).replace(at, in_files.size(), in_class);
  }
  return name;
}

namespace {

/// Default dims of each architecture.
template <class... Dims>
std::vector<ModelDims> one_of_each(std::type_identity<std::variant<Dims...>>) {
  return {Dims{}...};
}

}  // namespace

double attention_dropout(const ModelDims& dims) {
  return std::visit(
      [](const auto& d) {
        if constexpr (requires { d.attention_dropout; }) return d.attention_dropout;
        return 0.0;
      },
      dims);
}

namespace {

/// Of a row of few tokens, by operations of which a model can be told.
program::ModelGraph small_graph(const ModelDims& dims, const GraphOptions& graph_options) {
  const std::int64_t length = std::min<std::int64_t>(max_positions(dims), 16);
  return model_graph(dims, 1, length, DType::f32, graph_options);
}

}  // namespace

std::vector<operations::Attention> attention_of(const ModelDims& dims) {
  std::vector<operations::Attention> all;
  if (std::holds_alternative<CustomDims>(dims)) return all;
  const program::ModelGraph graph = small_graph(dims, {});
  for (const auto& block : graph.composition->blocks)
    for (const operations::BoundOp& op : block->forward)
      if (const auto* a = std::get_if<operations::Attention>(&op.operation)) all.push_back(*a);
  return all;
}

bool has_own_attention(const ModelDims& dims) {
  return std::ranges::any_of(attention_of(dims), [](const auto& a) { return !a.is_plain(); });
}

std::int64_t head_size(const ModelDims& dims) {
  return std::visit(
      [](const auto& d) -> std::int64_t {
        if constexpr (requires { d.num_decoder_heads; })
          return d.head_size > 0 ? d.head_size : d.hidden_size / d.num_heads;
        else if constexpr (requires { d.head_size; })
          return d.head_size;
        else if constexpr (requires { d.num_heads; })
          return d.hidden_size / d.num_heads;
        else
          return 0;
      },
      dims);
}

bool mixes_windows(const ModelDims& dims) {
  const std::vector<operations::Attention> all = attention_of(dims);
  return std::ranges::adjacent_find(all, std::not_equal_to(), &operations::Attention::window) !=
         all.end();
}

std::string without_gpu_kernel(const ModelDims& dims) {
  // LibTorch has kernels for what its modules call
  if (std::holds_alternative<CustomDims>(dims)) return "";
  return small_graph(dims, GraphOptions::on_gpu()).without_gpu_kernel;
}

namespace {

ModelDims read_dims(const std::string& text, const std::string& path) {
  if (auto custom = custom_dims_from_config(text, path)) return *std::move(custom);
  const ConfigReader file(text, path);
  std::vector<ModelDims> known = one_of_each(std::type_identity<ModelDims>());
  std::erase_if(known, [](const auto& d) {
    return std::holds_alternative<CustomDims>(d) || std::holds_alternative<DecoderDims>(d) ||
           std::holds_alternative<BertDims>(d) || std::holds_alternative<Seq2SeqDims>(d);
  });
  for (const BertOptions& o : BertOptions::described()) known.emplace_back(sizes(o).front().second);
  std::vector<std::string> names;
  for (const ModelDims& dims : known) names.emplace_back(architecture_name(dims));
  known.emplace_back(Gpt2Dims{.num_experts = 1});
  names.emplace_back(gpt2_moe);
  for (const Family& family : families()) names.emplace_back(family.name);
  for (const Seq2SeqFamily& family : seq2seq_families()) names.emplace_back(family.name);
  const std::size_t which = file.model_type(names);
  if (find_seq2seq_family(names[which])) return seq2seq_dims(names[which], text, path);
  if (which >= known.size()) return decoder_dims(names[which], text, path);
  ModelDims dims = std::move(known[which]);
  ConfigKeys keys(file);
  std::visit([&](auto& d) { config_keys(keys, d); }, dims);
  if (auto* encoder = std::get_if<BertDims>(&dims)) encoder->config = text;
  return dims;
}

std::int64_t layers_in(const auto& d) {
  if constexpr (requires { d.num_decoder_layers; })
    return std::max(d.num_layers, d.num_decoder_layers);
  else if constexpr (requires { d.num_layers; })
    return d.num_layers;
  else
    return 0;
}

}  // namespace

ModelDims dims_from_config(const std::string& text, const std::string& path) {
  check_json_text(text, path);
  ModelDims dims = read_dims(text, path);
  const auto layers = std::visit([](const auto& d) { return layers_in(d); }, dims);
  if (layers > most_layers)
    throw UserError(ExitCode::bad_data, path + " has " + std::to_string(layers) +
                                            " layers; trainx computes models of at most " +
                                            std::to_string(most_layers));
  return dims;
}

ModelDims read_config(const std::string& path_of_folder) {
  const std::string folder = model_folder_of(path_of_folder);
  return dims_from_config(read_json_text(folder + "/config.json"), folder + "/config.json");
}

std::vector<std::string> dropout_remarks(const std::string& text, const std::string& path,
                                         const ModelDims& dims) {
  const ConfigReader file(text, path);
  return std::visit([&](const auto& d) { return remarks_of(file, d); }, dims);
}

std::string config_text(const ModelDims& dims, DType saved) {
  return std::visit([&](const auto& d) { return text_of(d, saved); }, dims);
}

std::string parameter_name(const ModelDims& dims, std::string_view saved_name) {
  if (!std::holds_alternative<CustomDims>(dims) && is_constant_buffer(saved_name)) return {};
  return std::visit([&](const auto& d) { return parameter_of(d, saved_name); }, dims);
}

}  // namespace trainx::architectures
