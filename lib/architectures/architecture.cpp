#include "architectures/architecture.hpp"
#include "core/files.hpp"
#include "architectures/bert_config.hpp"
#include "architectures/config_reader.hpp"
#include "architectures/gpt2_config.hpp"
#include <concepts>
#include <deque>

namespace trainx::architectures {
namespace {

// The list: what each architecture's own files call these.
std::string text_of(const Gpt2Dims& d, DType saved) { return gpt2_config_text(d, saved); }
std::vector<std::string> remarks_of(const Gpt2Dims& d, const std::string& text,
                                    const std::string& path) {
  return gpt2_dropout_remarks(text, path, d.dropout);
}
std::string parameter_of(const Gpt2Dims&, std::string_view saved_name) {
  return gpt2_parameter_name(saved_name);
}

std::string text_of(const BertDims& d, DType saved) { return bert_config_text(d, saved); }
std::vector<std::string> remarks_of(const BertDims& d, const std::string& text,
                                    const std::string& path) {
  return bert_dropout_remarks(text, path, d.dropout);
}
std::string parameter_of(const BertDims& d, std::string_view saved_name) {
  return bert_parameter_name(d, saved_name);
}

program::ModelGraph graph_of(const CustomDims& d, std::int64_t B, std::int64_t T, DType compute,
                             Machine) {
  return custom_graph(d, B, T, compute);
}
std::string text_of(const CustomDims& d, DType saved) { return custom_config_text(d, saved); }
std::vector<std::string> remarks_of(const CustomDims&, const std::string&, const std::string&) {
  return {};
}
std::string parameter_of(const CustomDims&, std::string_view saved_name) {
  return std::string(saved_name);
}

std::string_view name_of(const Gpt2Dims&) { return Gpt2Options::name; }
std::string_view name_of(const BertDims&) { return BertOptions::name; }
std::string_view name_of(const CustomDims& d) { return d.options.name; }

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

Task task(const ModelOptions& options) {
  return std::visit([](const auto& o) { return task(o); }, options);
}

std::int64_t num_labels(const ModelDims& dims) {
  return std::visit([](const auto& d) { return num_labels(d); }, dims);
}

std::int64_t token_types(const ModelDims& dims) {
  return std::visit(
      [](const auto& d) -> std::int64_t {
        if constexpr (requires { d.type_vocab_size; })
          return d.type_vocab_size;
        else
          return 0;
      },
      dims);
}

std::optional<Masking> masking(const ModelDims& dims) {
  return std::visit([](const auto& d) { return masking(d); }, dims);
}

double nominal_targets(const ModelDims& dims, std::int64_t samples, std::int64_t length) {
  const auto n = static_cast<double>(samples);
  if (task(dims) == Task::classification) return n;
  const auto drawn = masking(dims);
  return n * static_cast<double>(length) * (drawn ? drawn->probability : 1.0);
}

namespace {

struct KnownGraph {
  ModelDims dims;
  std::int64_t micro_batch_size, length;
  DType compute;
  Machine machine;
  program::ModelGraph graph;
};

/// Searches ask for the same few graphs again and again. Models of a user's own are not compared.
const KnownGraph* find_known(const std::deque<KnownGraph>& known, const ModelDims& dims,
                             std::int64_t B, std::int64_t T, DType compute,
                             const Machine& machine) {
  for (const KnownGraph& k : known)
    if (k.micro_batch_size == B && k.length == T && k.compute == compute && k.machine == machine &&
        std::visit(
            [&]<class D>(const D& d) {
              if constexpr (std::equality_comparable<D>)
                return std::holds_alternative<D>(k.dims) && std::get<D>(k.dims) == d;
              else
                return false;
            },
            dims))
      return &k;
  return nullptr;
}

}  // namespace

program::ModelGraph model_graph(const ModelDims& dims, std::int64_t micro_batch_size,
                                std::int64_t length, DType compute, Machine machine) {
  constexpr std::size_t most_known = 8;
  thread_local std::deque<KnownGraph> known;
  if (const KnownGraph* k = find_known(known, dims, micro_batch_size, length, compute, machine))
    return k->graph;
  program::ModelGraph graph = std::visit(
      [&](const auto& d) { return graph_of(d, micro_batch_size, length, compute, machine); }, dims);
  if (std::holds_alternative<CustomDims>(dims)) return graph;
  if (known.size() == most_known) known.pop_front();
  known.push_back({dims, micro_batch_size, length, compute, machine, graph});
  return graph;
}

ModelDims dims_from_config(const std::string& text, const std::string& path) {
  if (auto custom = custom_dims_from_config(text, path)) return *std::move(custom);
  switch (ConfigReader(text, path).model_type({"gpt2", "bert"})) {
    case 0: return gpt2_dims_from_config(text, path);
    default: return bert_dims_from_config(text, path);
  }
}

ModelDims read_config(const std::string& folder) {
  return dims_from_config(read_file(folder + "/config.json"), folder + "/config.json");
}

std::vector<std::string> dropout_remarks(const std::string& text, const std::string& path,
                                         const ModelDims& dims) {
  return std::visit([&](const auto& d) { return remarks_of(d, text, path); }, dims);
}

std::string config_text(const ModelDims& dims, DType saved) {
  return std::visit([&](const auto& d) { return text_of(d, saved); }, dims);
}

std::string parameter_name(const ModelDims& dims, std::string_view saved_name) {
  return std::visit([&](const auto& d) { return parameter_of(d, saved_name); }, dims);
}

}  // namespace trainx::architectures
