#include "plan/adapter.hpp"
#include "plan/adapter_modules.hpp"
#include "architectures/architecture.hpp"
#include "architectures/own_head.hpp"
#include "core/error.hpp"
#include "plan/adapted_dims.hpp"
#include "plan/limits.hpp"
#include "plan/model_type.hpp"
#include "plan/parameter_groups.hpp"
#include <algorithm>
#include <map>
#include <set>

namespace trainx::plan {

using options::AdapterOptions, options::AdapterType;

namespace {

[[noreturn]] void refuse_adapter(const std::string& sentence) {
  throw UserError(ExitCode::invalid_recipe, "model.adapter" + sentence);
}

adapter::Targets targets_of(const options::NameList& list) {
  using Kind = adapter::Targets::Kind;
  if (!list.is_text) return {.kind = Kind::suffixes, .suffixes = list.names, .expression = {}};
  if (list.names.front() == "all_linear" || list.names.front() == "all-linear")
    return {.kind = Kind::all_linear, .suffixes = {}, .expression = {}};
  return {.kind = Kind::expression, .suffixes = {}, .expression = list.names.front()};
}

std::vector<std::pair<std::string, std::int64_t>> whole_numbers(
    const options::NumbersByName& numbers) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const auto& [name, number] : numbers.entries) {
    const auto whole = static_cast<std::int64_t>(number);
    if (static_cast<double>(whole) != number)
      refuse_adapter(".rank_pattern: the rank of " + name + " must be a whole number");
    out.emplace_back(name, whole);
  }
  return out;
}

adapter::TokenIndices token_indices(const options::TokensByName& tokens) {
  return {.is_list = tokens.is_list, .of_modules = tokens.entries};
}

/// The recipe's settings over those that are there.
void take_written(const AdapterOptions& o, adapter::Config& c) {
  if (o.rank) c.rank = *o.rank;
  if (o.alpha) c.alpha = *o.alpha;
  if (o.dropout) c.dropout = *o.dropout;
  if (o.rslora) c.rslora = *o.rslora;
  if (o.targets) c.targets = targets_of(*o.targets);
  if (o.exclude) c.exclude_modules = targets_of(*o.exclude);
  if (o.layers) c.layers_to_transform = {*o.layers, true};
  if (o.rank_pattern) c.rank_pattern = whole_numbers(*o.rank_pattern);
  if (o.alpha_pattern) c.alpha_pattern = o.alpha_pattern->entries;
  if (o.target_parameters) c.target_parameters = o.target_parameters->names;
  if (o.modules_to_save) c.modules_to_save = o.modules_to_save->names;
  if (o.trainable_token_indices) c.trainable_tokens = token_indices(*o.trainable_token_indices);
  if (o.ensure_weight_tying) c.ensure_weight_tying = *o.ensure_weight_tying;
}

std::string task_type_of(const architectures::ModelDims& dims) {
  switch (architectures::task(dims)) {
    case architectures::Task::causal_lm: return "CAUSAL_LM";
    case architectures::Task::seq2seq: return "SEQ_2_SEQ_LM";
    case architectures::Task::classification: return "SEQ_CLS";
    case architectures::Task::token_classification: return "TOKEN_CLS";
    default: return "";
  }
}

adapter::Config config_of(const Draft& plan, const facts::Facts& facts) {
  const AdapterOptions& o = plan.recipe.model.adapter;
  adapter::Config config;
  if (facts.adapter_folder) {
    const facts::AdapterFolderFacts& folder = *facts.adapter_folder;
    config = adapter::read_config(folder.config, folder.path + "/adapter_config.json");
    // of weights that exist; dropout is of training alone
    const bool differs = (o.rank && *o.rank != config.rank) ||
                         (o.alpha && *o.alpha != config.alpha) ||
                         (o.rslora && *o.rslora != config.rslora) || o.targets || o.exclude ||
                         o.layers || o.rank_pattern || o.alpha_pattern || o.target_parameters ||
                         o.modules_to_save || o.trainable_token_indices || o.ensure_weight_tying;
    if (differs)
      refuse_adapter(": " + folder.path +
                     "/adapter_config.json says which modules have which adapter: beside init_from "
                     "write type and dropout alone");
    if (o.dropout) config.dropout = *o.dropout;
  } else {
    config.rank = o.rank.value_or(options::default_adapter_rank);
    config.alpha = 2 * static_cast<double>(config.rank);
    config.targets.kind = adapter::Targets::Kind::all_linear;
    take_written(o, config);
    if (const std::string task = task_type_of(plan.dims); !task.empty()) config.task_type = task;
  }
  if (plan.recipe.model.init_from) config.base_model = plan.recipe.model.init_from;
  return config;
}

[[noreturn]] void refuse_embedding(const adapter::Module& m, const std::string& why) {
  refuse_adapter(".targets: " + m.name + " " + why + ": name it in modules_to_save");
}

/// Of a table that adapters stand beside.
void require_computable_embedding(const adapter::Module& m, const AdapterModules& modules,
                                  const architectures::ModelDims& dims) {
  if (!m.input_embedding)
    refuse_embedding(m, "is an embedding of positions or segments, which get no adapter in trainx");
  if (std::holds_alternative<architectures::Seq2SeqDims>(dims))
    refuse_embedding(m, "is the embedding of both texts, which gets no adapter in trainx");
  if (modules.has_nameless_tied_head)
    refuse_embedding(m, "is also the weight of the head, which an adapter would part from it");
}

/// Of rows of an embedding or a head.
void require_computable_rows(const adapter::Module& m, const AdapterModules& modules,
                             const architectures::ModelDims& dims, bool of_tied_head) {
  const auto refuse = [&](const std::string& why) {
    refuse_adapter(".trainable_token_indices: " + m.name + " " + why);
  };
  if (std::holds_alternative<architectures::Seq2SeqDims>(dims))
    refuse("is of an encoder-decoder, in which trainx trains no single tokens");
  if (m.kind == adapter::ModuleKind::embedding && modules.has_nameless_tied_head)
    refuse("is also the weight of the head, in which trainx trains no single tokens");
  const auto has_bias = [&](const adapter::Module& head) {
    return (head.output_head || head.tied_to_embedding) &&
           std::ranges::any_of(modules.parameters, [&](const AdapterModules::Parameter& p) {
             return p.path == head.name + ".bias";
           });
  };
  if (has_bias(m) || (of_tied_head && std::ranges::any_of(modules.all, has_bias)))
    refuse("has a bias in its head, and PEFT leaves that out");
}

void require_computable(const adapter::Module& m) {
  if (m.tied_to_embedding)
    refuse_adapter(".targets: " + m.name +
                   " has the embedding's weight: name the embedding in modules_to_save");
}

/// A head that is trained whole would be torn from the embedding whose weight it has.
void require_embedding(const AdapterModules& modules, const adapter::Chosen& chosen) {
  const auto has = [&](const auto& is) {
    return std::ranges::any_of(chosen.saved_whole,
                               [&](std::size_t m) { return is(modules.all[m]); });
  };
  if (has([](const adapter::Module& m) { return m.tied_to_embedding; }) &&
      !has([](const adapter::Module& m) { return m.input_embedding; }))
    refuse_adapter(
        ".modules_to_save: the head has the embedding's weight, and trainx does not part them: "
        "name the embedding as well");
}

}  // namespace

bool AdapterPlan::tells_layers_apart() const {
  const bool whole_parts = std::ranges::all_of(config.targets.suffixes, [](const std::string& s) {
    return s.find('.') == std::string::npos;
  });
  return config.layers_to_transform || config.exclude_modules || !config.rank_pattern.empty() ||
         !config.alpha_pattern.empty() || !whole_parts ||
         config.targets.kind == adapter::Targets::Kind::expression;
}

AdapterPlan adapter_of(const adapter::Config& config, const architectures::ModelDims& dims,
                       adapter::Unmatched unmatched) {
  const AdapterModules modules = adapter_modules(dims);
  const adapter::Chosen chosen =
      adapter::choose_targets(config, modules.all, model_type_of(dims), unmatched);
  require_embedding(modules, chosen);
  AdapterPlan made{.options = {}, .config = chosen.written, .warnings = chosen.warnings};
  std::map<std::string, const AdapterModules::Parameter*> parameters;  // by path
  std::vector<std::string> paths;
  for (const AdapterModules::Parameter& p : modules.parameters) {
    parameters.emplace(p.path, &p);
    paths.push_back(p.path);
  }
  std::map<std::size_t, adapter::LowRank> low_ranks;
  for (const adapter::Target& target : chosen.adapted) {
    const adapter::Module& m = modules.all[target.module];
    const std::string& weight = modules.weights[target.module];
    const bool is_embedding = m.kind == adapter::ModuleKind::embedding;
    if (is_embedding) require_computable_embedding(m, modules, dims);
    require_computable(m);
    const adapter::LowRank& low_rank = target.low_rank;
    (is_embedding ? made.options.embeddings : made.options.weights)[weight] = {
        modules.names[target.module], low_rank.rank, low_rank.scale};
    made.options.dropout = low_rank.dropout;
    made.modules.push_back(m.name);
    made.trained += m.experts * low_rank.rank * (m.in + m.out);
    made.of_head = made.of_head || m.output_head;
    low_ranks.emplace(target.module, low_rank);
  }
  for (const adapter::TokenRows& rows : chosen.token_rows) {
    const adapter::Module& m = modules.all[rows.module];
    require_computable_rows(m, modules, dims, chosen.tied_head_has_rows);
    const std::vector<std::int32_t> ids(rows.tokens.begin(), rows.tokens.end());
    made.options.token_rows[modules.weights[rows.module]] = {modules.names[rows.module], ids};
    made.trained += std::ssize(ids) * (m.kind == adapter::ModuleKind::embedding ? m.out : m.in);
    made.of_head = made.of_head || m.output_head || chosen.tied_head_has_rows;
  }
  std::map<std::size_t, std::string> names_of_a, names_of_b;
  for (const adapter::AdapterTensor& t : adapter::adapter_tensors(modules.all, chosen, paths)) {
    const std::string& module = modules.names[t.module];
    switch (t.role) {
      case adapter::TensorRole::a:
        made.tensors.push_back({t.name, graph::low_rank_a(module)});
        names_of_a[t.module] = t.name;
        break;
      case adapter::TensorRole::b:
        made.tensors.push_back({t.name, graph::low_rank_b(module)});
        names_of_b[t.module] = t.name;
        break;
      case adapter::TensorRole::whole: {
        const AdapterModules::Parameter& p = *parameters.at(t.parameter);
        made.tensors.push_back({t.name, p.name});
        if (made.options.trained.insert(p.name).second) made.trained += p.elements;
        break;
      }
      case adapter::TensorRole::rows: {
        const std::string& weight = modules.weights[t.module];
        made.replaced.push_back(
            {weight, t.name, graph::token_rows_of(module), made.options.token_rows.at(weight).ids});
        made.tensors.push_back({t.name, made.replaced.back().rows});
        break;
      }
      case adapter::TensorRole::base:
        made.base_tensors.push_back({t.name, parameters.at(t.parameter)->name});
        break;
    }
  }
  for (const adapter::AdapterTensor& t : adapter::base_tensors(modules.all, chosen, paths))
    made.readable_base.push_back({t.name, parameters.at(t.parameter)->name});
  for (const auto& [m, low_rank] : low_ranks)
    for (const WeightSlice& slice : modules.slices[m])
      made.added.push_back({slice, names_of_a.at(m), names_of_b.at(m), low_rank.scale,
                            modules.all[m].experts,
                            modules.all[m].kind == adapter::ModuleKind::embedding});
  return made;
}

void share_base_of_tied(AdapterPlan& plan, const architectures::ModelDims& dims) {
  const architectures::HeadAndTable own = architectures::own_head(dims);
  const auto is_trained = [&](const std::string& p) { return plan.options.trained.contains(p); };
  std::vector<AdapterPlan::Tensor> all;
  for (const auto& [name, parameter] : plan.readable_base)
    if (parameter == own.table && !is_trained(own.head)) all.push_back({name, own.head});
  all.insert(all.end(), plan.readable_base.begin(), plan.readable_base.end());
  for (const auto& [name, parameter] : plan.readable_base)
    if (parameter == own.head && !is_trained(own.table)) all.push_back({name, own.table});
  plan.readable_base = std::move(all);
}

namespace {

/// What the first adapter's file has of the model's own weights is in the run's checkpoints too.
void keep_base(AdapterPlan& plan, const std::vector<std::string>& in_file) {
  const std::set<std::string> found(in_file.begin(), in_file.end());
  for (const AdapterPlan::Tensor& tensor : plan.readable_base)
    if (found.contains(tensor.name) &&
        std::ranges::find(plan.base_tensors, tensor.name, &AdapterPlan::Tensor::name) ==
            plan.base_tensors.end())
      plan.base_tensors.push_back(tensor);
}

}  // namespace

std::optional<AdapterPlan> plan_adapter(Draft& plan, const facts::Facts& facts) {
  if (plan.recipe.model.adapter.type == AdapterType::none) return std::nullopt;
  // settings of an adapter that exists may name modules of other models, too
  const auto unmatched = facts.adapter_folder ? adapter::Unmatched::warned_of
                                              : adapter::Unmatched::refused;
  const adapter::Config config = config_of(plan, facts);
  const bool was_tied = architectures::has_partable_head(plan.dims);
  plan.dims = adapted_dims(config, plan.dims, unmatched);
  AdapterPlan made = adapter_of(config, plan.dims, unmatched);
  if (was_tied && !architectures::has_partable_head(plan.dims)) {
    share_base_of_tied(made, plan.dims);
    made.parted = architectures::own_head(plan.dims);
    made.warnings.push_back(
        "the embedding and the head are one weight, of which the adapter changes one alone: the "
        "run has both, and the merged model's config.json says tie_word_embeddings: false");
  }
  if (facts.adapter_folder) keep_base(made, facts.adapter_folder->tensors);
  if (made.of_head && !plan.on_gpu && plan.compute != DType::f32)
    refuse_adapter(
        ": the head's result is fp32 on a CPU: write precision.compute: fp32, or leave the head "
        "out");
  return made;
}

void require_adapters(const AdapterPlan& adapter, const program::ModelGraph& graph) {
  std::size_t found = 0;
  for (const program::GroupSpec& group : graph.groups)
    found += static_cast<std::size_t>(
        std::ranges::count_if(group.parameters, &program::ParameterSpec::of_adapter));
  const std::size_t adapters = adapter.options.weights.size() + adapter.options.embeddings.size(),
                    rows = adapter.options.token_rows.size();
  if (found != 2 * adapters + rows)
    throw InternalError("the graph has " + std::to_string(found) + " tensors of " +
                        std::to_string(adapters) + " adapters and " + std::to_string(rows) +
                        " lists of tokens");
}

std::string adapter_words(const AdapterPlan& adapter) {
  std::vector<std::pair<std::string, int>> kinds;  // by the last part of a name
  for (const std::string& module : adapter.modules) {
    const std::string kind = module.substr(module.rfind('.') + 1);
    auto at = std::ranges::find(kinds, kind, &std::pair<std::string, int>::first);
    if (at == kinds.end()) at = kinds.emplace(kinds.end(), kind, 0);
    ++at->second;
  }
  std::string list;
  for (const auto& [kind, count] : kinds)
    list += (list.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  std::string words = "model.adapter: " + std::to_string(adapter.modules.size()) +
                      (adapter.modules.size() == 1 ? " module gets" : " modules get") + " one (" +
                      list + ")";
  std::size_t tokens = 0;
  for (const AdapterPlan::Replaced& rows : adapter.replaced) tokens += rows.ids.size();
  if (tokens > 0)
    words += ", " + with_commas(static_cast<std::int64_t>(tokens)) +
             (tokens == 1 ? " token has a row" : " tokens have rows");
  if (!adapter.options.trained.empty())
    words += ", " + std::to_string(adapter.options.trained.size()) + " tensors are trained whole";
  return words + ": " + with_commas(adapter.trained) + " numbers are trained";
}

void tell_trained(const Draft& plan, architectures::GraphOptions& graph_options) {
  graph_options.passes.rules = parameter_rules(plan);
  if (plan.adapter) graph_options.passes.adapter = plan.adapter->options;
}

}  // namespace trainx::plan
