#include "graph/builder.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <map>

namespace trainx::graph {

using namespace operations;
using program::Initializer;
using program::ParameterSpec;
using program::TensorSpec;

namespace {

TensorSpec batch_tensor(const std::string& name, const BuilderOptions& options) {
  if (name == "label_values") return {name, DType::f32, {options.batch_size, options.label_values}};
  enum class Each : std::uint8_t { sample, token, target };
  static const std::map<std::string, std::pair<DType, Each>> known{
      {"tokens", {DType::i32, Each::token}},
      {"targets", {DType::i32, Each::target}},
      {"positions", {DType::i64, Each::sample}},
      {"token_types", {DType::i32, Each::token}},
      {"lengths", {DType::i32, Each::sample}},
      {"labels", {DType::i32, Each::sample}},
      {"document_starts", {DType::i32, Each::token}},
      {"target_tokens", {DType::i32, Each::target}}};
  const auto found = known.find(name);
  if (found == known.end()) throw InternalError("no loader fills '" + name + "'");
  TensorSpec spec{name, found->second.first, {options.batch_size}};
  if (found->second.second == Each::target && options.target_length > 0)
    spec.dims.push_back(options.target_length);
  else if (found->second.second != Each::sample)
    spec.dims.push_back(options.length);
  return spec;
}

}  // namespace

operations::Types Model::types_of(const Node& op) const {
  operations::Types t{.inputs = {}, .parameters = {}, .compute = compute, .gpu = gpu};
  t.inputs.reserve(op.inputs.size());
  for (const ValueId v : op.inputs)
    t.inputs.push_back(v == none ? TensorType{} : values[static_cast<std::size_t>(v)].type);
  t.parameters.reserve(op.parameters.size());
  t.frozen_parameters.reserve(op.parameters.size());
  for (const ParameterId& p : op.parameters) {
    TensorType& type = t.parameters.emplace_back(TensorType{compute, {}});
    t.frozen_parameters.push_back(p.index != none &&
                                  !parameters[static_cast<std::size_t>(p.index)].training.trained);
    if (p.index == none) continue;
    type.dims = parameters[static_cast<std::size_t>(p.index)].spec.dims;
    for (int i = 1; i < p.count; ++i)
      type.dims.front() += parameters[static_cast<std::size_t>(p.index + i)].spec.dims.front();
    type.dims[dimension_of(p.part_of, type.dims.size())] /= p.parts.count;
  }
  return t;
}

ModelBuilder::ModelBuilder(const BuilderOptions& options, const std::vector<std::string>& batch)
    : options_(options) {
  model_.batch_size = options.batch_size;
  model_.length = length_ = options.length;
  model_.target_length = options.target_length;
  model_.compute = options.compute;
  model_.gpu = options.gpu;
  model_.scaled = options.scaled;
  for (const std::string& name : batch) {
    const TensorSpec& spec = model_.batch.emplace_back(batch_tensor(name, options));
    model_.values.push_back(
        {name, {spec.dtype, spec.dims}, static_cast<int>(model_.batch.size()) - 1});
  }
  for (const TensorSpec& field : options.fields) {
    model_.batch.push_back(field);
    model_.values.push_back(
        {field.name, {field.dtype, field.dims}, static_cast<int>(model_.batch.size()) - 1});
  }
  model_.positions = this->batch("positions").id;
}

Value ModelBuilder::batch(const std::string& name) const {
  for (std::size_t v = 0; v < model_.batch.size(); ++v)
    if (model_.batch[v].name == name) return {static_cast<ValueId>(v)};
  throw InternalError("the model reads no '" + name + "'");
}

Node& ModelBuilder::add(Operation operation, std::vector<ValueId> inputs,
                        std::vector<ParameterId> parameters) {
  Node& op = model_.blocks.back().ops.emplace_back(
      Node{std::move(operation), std::move(inputs), std::move(parameters), {}, {}});
  for (const OutputSpec& o : outputs_of(op.operation, model_.types_of(op))) {
    op.outputs.push_back(o.type.defined() ? static_cast<ValueId>(model_.values.size()) : none);
    if (o.type.defined()) model_.values.push_back({std::string(o.name), o.type});
  }
  return op;
}

Block& ModelBuilder::begin(std::string name, BlockKind kind, int layer) {
  return model_.blocks.emplace_back(Block{std::move(name), kind, layer, {}, length_});
}

ParameterId ModelBuilder::parameter(ParameterSpec spec, std::string group, bool continues) {
  model_.parameters.push_back({std::move(spec), std::move(group), continues});
  return {static_cast<int>(model_.parameters.size()) - 1};
}

ParameterId ModelBuilder::table(const std::string& name, std::int64_t columns,
                                const TableOptions& o) {
  if (const ParameterId known = find(name); known.index != none) return known;
  return parameter({.name = name,
                    .dims = {std::max(o.rows, o.padded_rows), columns},
                    .decay = true,
                    .initializer = Initializer::normal,
                    .standard_deviation = o.initializer_range > 0 ? o.initializer_range
                                                                  : options_.initializer_range,
                    .zero_row = o.zero_row,
                    .embedding = true,
                    .by_token = o.by_token,
                    .saved_dims = {o.rows, columns}},
                   o.group);
}

ParameterId ModelBuilder::find(const std::string& name) const {
  const auto at = std::ranges::find(model_.parameters, name,
                                    [](const ModelParameter& p) { return p.spec.name; });
  if (at == model_.parameters.end()) return {};
  return {static_cast<int>(at - model_.parameters.begin())};
}

std::vector<ParameterId> ModelBuilder::norm_parameters(const std::string& name,
                                                       std::int64_t columns, bool optional) {
  std::vector<ParameterId> out(2);
  if (options_.norm_weight)
    out[ResidualNorm::weight] = parameter(
        {.name = name + ".weight",
         .dims = {columns},
         .initializer = options_.norm_offset == 0 ? Initializer::ones : Initializer::zeros,
         .optional = optional});
  if (options_.norm_shift)
    out[ResidualNorm::shift] =
        parameter({.name = name + ".bias", .dims = {columns}, .optional = optional});
  return out;
}

std::int64_t ModelBuilder::columns_of(Value x) const {
  return model_.values[static_cast<std::size_t>(x.id)].type.columns();
}

Value ModelBuilder::embedding(const EmbeddingOptions& o) {
  const bool of_targets = model_.target_length > 0 && !model_.blocks.empty();
  begin(of_targets ? "target_embedding" : "embedding", BlockKind::embedding);
  const bool norms = !o.norm.empty();
  const std::int64_t C = o.hidden_size;
  Embedding op{.dropout = norms ? 0 : options_.dropout,
               .scale = o.scale,
               .scales_tokens = o.scales_tokens,
               .first_position = o.first_position,
               .untrained_token = o.tokens.zero_row};
  std::vector<ValueId> inputs{batch(of_targets ? "target_tokens" : "tokens").id, none, none, none};
  if (!o.type.empty()) inputs[Embedding::token_types] = batch("token_types").id;
  inputs[Embedding::starts] = documents();
  if (op.dropout > 0) inputs[Embedding::positions] = model_.positions;
  TableOptions tokens = o.tokens;
  tokens.by_token = true;
  std::vector<ParameterId> parameters{table(o.token, C, tokens), {}, {}};
  if (!o.position.empty()) parameters[Embedding::position] = table(o.position, C, o.positions);
  if (!o.type.empty()) parameters[Embedding::type] = table(o.type, C, o.types);
  Value h = out(add(op, std::move(inputs), std::move(parameters)));
  if (norms) {
    h = layer_norm(h, o.norm);
    if (options_.dropout > 0) h = dropout(h, length_, 0);
  }
  model_.values[static_cast<std::size_t>(h.id)].name = of_targets ? "targets0" : "residual0";
  return h;
}

Value ModelBuilder::layer_norm(Value x, const std::string& name, bool optional, double epsilon) {
  ResidualNorm norm = norm_form();
  if (epsilon > 0) norm.epsilon = epsilon;
  norm.norms = true;
  return out(add(std::move(norm), {x.id, none, none, none},
                 norm_parameters(name, columns_of(x), optional)),
             ResidualNorm::normed);
}

Value ModelBuilder::sum(Value h, Value branch) {
  const double p = options_.dropout;
  ResidualNorm form = norm_form();
  form.adds = true;
  form.dropout = p;
  const Value s =
      out(add(std::move(form), {h.id, branch.id, p > 0 ? model_.positions : none, none}, {}));
  model_.values[static_cast<std::size_t>(branch.id)].name = "branch" + std::to_string(sums_++);
  model_.values[static_cast<std::size_t>(s.id)].name = "residual" + std::to_string(sums_);
  return s;
}

Value ModelBuilder::residual(int layer, const std::string& part, Value h, const Branch& f) {
  begin("h" + std::to_string(layer) + "." + part, BlockKind::layer, layer);
  return sum(h, f(h));
}

Value ModelBuilder::parallel_residual(int layer, const std::string& part, Value h, const Branch& f,
                                      const Branch& g) {
  begin("h" + std::to_string(layer) + "." + part, BlockKind::layer, layer);
  const Value first = f(h), second = g(h);
  ResidualNorm both = norm_form();
  both.adds = true;
  both.branch_scale = 1;
  return sum(h, out(add(std::move(both), {first.id, second.id, none, none}, {})));
}

Value ModelBuilder::mean_pool(Value x) {
  model_.blocks[model_.blocks.size() - 2].closes = true;  // its norm is of all rows
  return out(add(MeanPool{.batch = options_.batch_size, .length = options_.length},
                 {x.id, batch("lengths").id}, {}));
}

Value ModelBuilder::stage(const std::string& name, Value h, const Branch& f) {
  begin(name, BlockKind::layer);
  return f(h);
}

ResidualNorm ModelBuilder::norm_form() const {
  return {.epsilon = options_.epsilon,
          .rms = options_.rms,
          .weight_offset = options_.norm_offset,
          .branch_scale = options_.branch_scale,
          .any_form = options_.any_norms};
}

ValueId ModelBuilder::documents() const {
  for (const TensorSpec& b : model_.batch)
    if (b.name == "document_starts") return batch(b.name).id;
  return none;
}

Value ModelBuilder::residual_then_norm(int layer, const std::string& part, Value h, const Branch& f,
                                       const std::string& norm) {
  return layer_norm(residual(layer, part, h, f), norm);
}

Value ModelBuilder::linear(Value x, const std::string& name, const LinearOptions& o) {
  const std::vector<std::string> parts = o.parts.empty() ? std::vector<std::string>{""} : o.parts;
  const auto count = static_cast<std::int64_t>(parts.size());
  const std::int64_t in = columns_of(x);
  const auto width = [&](int p) {
    return o.widths.empty() ? o.features / count : o.widths[static_cast<std::size_t>(p)];
  };
  const auto range = [&](int p) {
    if (!o.initializer_ranges.empty()) return o.initializer_ranges[static_cast<std::size_t>(p)];
    return o.initializer_range > 0 ? o.initializer_range : options_.initializer_range;
  };
  std::vector<ParameterId> parameters(2);
  for (int p = 0; p < static_cast<int>(count); ++p) {
    ParameterSpec weight{.name = name + parts[static_cast<std::size_t>(p)] + ".weight",
                         .dims = {width(p), in},
                         .decay = true,
                         .initializer = Initializer::normal,
                         .standard_deviation = range(p),
                         .optional = o.optional,
                         .saved_transposed = options_.transposed_linears,
                         .saved_heads = o.saved_heads};
    const ParameterId id = parameter(std::move(weight), "", p > 0);
    if (p == 0) parameters[Linear::weight] = {id.index, static_cast<int>(count)};
  }
  for (int p = 0; o.bias && p < static_cast<int>(count); ++p) {
    const ParameterId id = parameter({.name = name + parts[static_cast<std::size_t>(p)] + ".bias",
                                      .dims = {width(p)},
                                      .optional = o.optional,
                                      .saved_heads = o.saved_heads},
                                     "", p > 0);
    if (p == 0) parameters[Linear::bias] = {id.index, static_cast<int>(count)};
  }
  return out(
      add(Linear{.epilogue = {.activation = o.activation}}, {x.id, none}, std::move(parameters)),
      Linear::y);
}

Value ModelBuilder::head_norm(Value qkv, const HeadNormOptions& o) {
  std::vector<ParameterId> parameters(4);
  const auto add_parts = [&](const std::string& name, const char* kind, std::int64_t columns,
                             std::int64_t rows, int parts, Initializer initializer) {
    ParameterId all;
    for (int p = 0; p < parts; ++p) {
      const std::string part = parts > 1 ? name + ".norms." + std::to_string(p) : name;
      std::vector<std::int64_t> dims{columns / parts};
      if (rows > 0) dims = {rows, columns / rows};
      const ParameterId id =
          parameter({.name = part + kind, .dims = dims, .initializer = initializer}, "", p > 0);
      if (p == 0) all = {id.index, parts};
    }
    return all;
  };
  const Initializer one = o.norm.weight_offset == 0 ? Initializer::ones : Initializer::zeros;
  if (!o.query.empty()) {
    parameters[HeadNorm::query_weight] =
        add_parts(o.query, ".weight", o.query_columns, o.query_rows, o.query_parts, one);
    parameters[HeadNorm::key_weight] =
        add_parts(o.key, ".weight", o.key_columns, o.key_rows, o.key_parts, one);
    if (o.bias) {
      parameters[HeadNorm::query_bias] = add_parts(o.query, ".bias", o.query_columns, o.query_rows,
                                                   o.query_parts, Initializer::zeros);
      parameters[HeadNorm::key_bias] =
          add_parts(o.key, ".bias", o.key_columns, o.key_rows, o.key_parts, Initializer::zeros);
    }
  }
  return out(add(o.norm, {qkv.id}, std::move(parameters)));
}

Value ModelBuilder::rotary(Value qkv, const Rotary& rotary) {
  return out(add(rotary, {qkv.id, documents()}, {}));
}

Value ModelBuilder::columns(Value x, const Columns& columns) {
  return out(add(columns, {x.id}, {}));
}

Value ModelBuilder::latent_heads(Value queries, Value keys_values, Value latent,
                                 const LatentHeads& heads) {
  return out(add(heads, {queries.id, keys_values.id, latent.id}, {}));
}

Value ModelBuilder::gated(Value x, Activation activation) {
  return out(add(Gated{.activation = activation}, {x.id}, {}));
}

Value ModelBuilder::activation(Value x, Activation activation) {
  return out(add(ActivationLayer{.activation = activation}, {x.id}, {}));
}

void ModelBuilder::begin_targets(Value memory) {
  model_.blocks.back().closes = true;
  model_.memory = memory.id;
  model_.first_of_targets = static_cast<int>(model_.blocks.size());
  length_ = model_.target_length;
}

Value ModelBuilder::attention(Value qkv, const AttentionOptions& o, Value memory) {
  model_.values[static_cast<std::size_t>(qkv.id)].name = memory.id == none ? "qkv" : "queries";
  std::vector<ParameterId> parameters(2);
  if (!o.bias_table.empty())
    parameters[Attention::bias_table] =
        table(o.bias_table, o.heads,
              {.rows = o.bias.buckets, .group = o.bias_table, .initializer_range = o.bias_range});
  const char* seen = o.mask == AttentionMask::documents ? "document_starts" : "lengths";
  const double p = options_.attention_dropout;
  if (!o.sinks.empty())
    parameters[Attention::sinks] = parameter({.name = o.sinks,
                                              .dims = {o.heads},
                                              .initializer = Initializer::normal,
                                              .standard_deviation = options_.initializer_range});
  return out(add(Attention{.query_heads = o.heads,
                           .key_value_heads = o.key_value_heads,
                           .head_size = o.head_size,
                           .batch = options_.batch_size,
                           .length = length_,
                           .value_size = o.value_size,
                           .mask = o.mask,
                           .kind = o.kind,
                           .scale = o.scale,
                           .window = o.window,
                           .soft_cap = o.soft_cap,
                           .dropout = p,
                           .alibi = o.alibi,
                           .has_sinks = !o.sinks.empty(),
                           .memory_length = memory.id == none ? 0 : options_.length,
                           .bias = o.bias,
                           .compute_capability = options_.compute_capability},
                 {qkv.id, o.mask == AttentionMask::causal ? none : batch(seen).id,
                  p > 0 ? model_.positions : none, memory.id},
                 std::move(parameters)));
}

Value ModelBuilder::dropout(Value x, std::int64_t length, int site, double probability) {
  return out(add(DropoutLayer{.probability = probability > 0 ? probability : options_.dropout,
                              .length = length,
                              .site = site},
                 {x.id, model_.positions}, {}));
}

Node& ModelBuilder::add_module(const ModuleOptions& o) {
  std::vector<ParameterId> parameters;
  for (const ParameterSpec& p : o.parameters) {
    const ParameterId known = find(p.name);
    parameters.push_back(known.index == none ? parameter(p) : known);
  }
  std::vector<ValueId> inputs{model_.positions};
  for (const Value x : o.inputs) inputs.push_back(x.id);
  return add(o.module, std::move(inputs), std::move(parameters));
}

std::vector<Value> ModelBuilder::module(const ModuleOptions& o) {
  begin(o.name, BlockKind::layer, static_cast<int>(model_.blocks.size()));
  const Node& node = add_module(o);
  std::vector<Value> made;
  for (std::size_t k = 0; k < o.outputs.size(); ++k) {
    made.push_back(out(node, static_cast<int>(k)));
    model_.values[static_cast<std::size_t>(made.back().id)].name = o.outputs[k];
  }
  return made;
}

void ModelBuilder::module_head(ModuleOptions o, Value targets, std::int64_t classes) {
  begin(o.name, BlockKind::head);
  model_.head = {.targets = targets.id};
  o.module.loss = operations::Module::Loss::cross_entropy;
  o.inputs.push_back(targets);
  add_module(o);
  if (classes > 0) model_.scores = {program::metric("confusion", {classes, classes})};
}

void ModelBuilder::module_loss(ModuleOptions o, std::int64_t metrics) {
  begin(o.name, BlockKind::head);
  o.module.loss = operations::Module::Loss::own;
  add_module(o);
  if (metrics > 0)
    model_.scores = {program::metric(std::string(Module::own_metrics), {metrics, 2})};
}

void ModelBuilder::begin_head(const Head& rows) {
  begin("head", BlockKind::head);
  model_.head = rows;
}

Value ModelBuilder::logits(Value h, const LogitsOptions& o) {
  std::vector<ParameterId> parameters(2);
  std::int64_t columns = o.classes;
  if (o.tied_to.empty()) {
    parameters[Linear::weight] =
        parameter({.name = o.name + ".weight",
                   .dims = {o.classes, columns_of(h)},
                   .decay = true,
                   .initializer = Initializer::normal,
                   .standard_deviation = o.initializer_range > 0 ? o.initializer_range
                                                                 : options_.initializer_range,
                   .optional = o.optional,
                   .by_token = o.by_token});
  } else {
    parameters[Linear::weight] = find(o.tied_to);
    if (parameters[Linear::weight].index == none)
      throw InternalError("nothing is called " + o.tied_to);
    columns = model_.parameters[static_cast<std::size_t>(parameters[Linear::weight].index)]
                  .spec.dims.front();
  }
  if (o.bias)
    parameters[Linear::bias] = parameter({.name = o.name + ".bias",
                                          .dims = {columns},
                                          .optional = o.optional,
                                          .by_token = o.by_token,
                                          .saved_dims = {o.classes}});
  if (!o.constant_bias.empty()) {
    parameters[Linear::bias] = parameter({.name = o.constant_bias,
                                          .dims = {columns},
                                          .may_be_absent = true,
                                          .by_token = true,
                                          .saved_dims = {1, o.classes}});
    model_.parameters.back().training.trained = false;
  }
  const Value logits = out(add(Linear{.epilogue = {.result = operations::LinearResult::logits}},
                               {h.id, none}, std::move(parameters)),
                           Linear::y);
  model_.values[static_cast<std::size_t>(logits.id)].name = "logits_chunk";
  model_.head.classes = o.classes;
  return logits;
}

void ModelBuilder::value_loss(Value h, const LogitsOptions& o, ValueLossKind kind) {
  add(ValueLoss{.kind = kind}, {logits(h, o).id, model_.head.targets}, {});
}

void ModelBuilder::loss(Value h, const LogitsOptions& o, CrossEntropy::Score score) {
  for (const auto& [balance, router_loss] : router_losses_)
    add(router_loss, {balance.id, model_.head.targets}, {});
  if (z_.id != none) add(z_loss_, {z_.id, model_.head.targets}, {});
  if (!offsets_.empty()) {
    add(loads_, offsets_, {});
    model_.loads = program::metric(std::string(program::expert_loads),
                                   {std::ssize(offsets_), loads_.experts + 1});
  }
  add(CrossEntropy{.classes = o.classes,
                   .score = score,
                   .scale = o.scale,
                   .soft_cap = o.soft_cap,
                   .smoothing = options_.label_smoothing,
                   .z_loss = options_.z_loss},
      {logits(h, o).id, model_.head.targets}, {});
  if (score == CrossEntropy::Score::correct) model_.scores = {program::metric("correct")};
  if (score == CrossEntropy::Score::confusion)
    model_.scores = {program::metric("confusion", {o.classes, o.classes})};
}

}  // namespace trainx::graph
