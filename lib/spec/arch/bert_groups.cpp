#include "spec/arch/bert_groups.hpp"
#include "spec/arch/group_builder.hpp"

namespace trainx::spec {

using program::GroupSpec;
using program::ParameterSpec;

namespace {

/// Tensors in the order of bert::ClassifierTensor, up to the norm.
void add_classifier(GroupSpec& head, const BertDims& d) {
  const std::int64_t C = d.hidden_size;
  add(head, linear_weight("bert.pooler.dense.weight", C, C, d.initializer_range));
  add(head, linear_weight("classifier.weight", d.num_labels, C, d.initializer_range));
  add(head, bias("bert.pooler.dense.bias", C));
  add(head, bias("classifier.bias", d.num_labels));
}

/// Tensors in the order of bert::MaskedLmTensor, up to the norm.
void add_masked_lm(GroupSpec& head, const BertDims& d) {
  const std::int64_t C = d.hidden_size;
  const std::string transform = "cls.predictions.transform.";
  add(head, linear_weight(transform + "dense.weight", C, C, d.initializer_range));
  add(head, bias(transform + "dense.bias", C));
  add_norm(head, transform + "LayerNorm", C, "");
  ParameterSpec decoder = bias("cls.predictions.bias", d.padded_vocab_size());
  decoder.saved_dims = {d.vocab_size};
  add(head, decoder);
}

}  // namespace

std::vector<GroupSpec> bert_groups(const BertDims& d) {
  const std::int64_t C = d.hidden_size, F = d.intermediate_size;
  const double deviation = d.initializer_range;
  const std::string embeddings = "bert.embeddings.";
  std::vector<GroupSpec> groups;
  ParameterSpec word = embedding(embeddings + "word_embeddings.weight", d.padded_vocab_size(), C,
                                 d.vocab_size, deviation);
  if (d.pad_token >= 0) word.zero_row = d.pad_token;
  add(groups.emplace_back(GroupSpec{.name = "word"}), word);
  GroupSpec& other = groups.emplace_back(GroupSpec{.name = "embedding"});
  add(other, embedding(embeddings + "position_embeddings.weight", d.max_positions, C,
                       d.max_positions, deviation));
  add(other, embedding(embeddings + "token_type_embeddings.weight", d.type_vocab_size, C,
                       d.type_vocab_size, deviation));
  add_norm(other, embeddings + "LayerNorm", C, "");
  std::string norm, pending;  // of the branch that the block before left open
  auto begin = [&](GroupSpec& group) {
    if (!norm.empty()) add_norm(group, norm, C, pending);
  };
  for (std::int64_t i = 0; i < d.num_layers; ++i) {
    const std::string layer = "bert.encoder.layer." + std::to_string(i) + ".",
                      self = layer + "attention.self.", block = "h" + std::to_string(i);
    GroupSpec& attention = groups.emplace_back(GroupSpec{.name = block + ".attention"});
    for (const char* part : {"query", "key", "value"})
      add(attention, linear_weight(self + part + ".weight", C, C, deviation), part[0] != 'q');
    add(attention, linear_weight(layer + "attention.output.dense.weight", C, C, deviation));
    for (const char* part : {"query", "key", "value"})
      add(attention, bias(self + part + ".bias", C), part[0] != 'q');
    begin(attention);
    norm = layer + "attention.output.LayerNorm";
    pending = layer + "attention.output.dense.bias";
    GroupSpec& mlp = groups.emplace_back(GroupSpec{.name = block + ".mlp"});
    add(mlp, linear_weight(layer + "intermediate.dense.weight", F, C, deviation));
    add(mlp, linear_weight(layer + "output.dense.weight", C, F, deviation));
    add(mlp, bias(layer + "intermediate.dense.bias", F));
    begin(mlp);
    norm = layer + "output.LayerNorm";
    pending = layer + "output.dense.bias";
  }
  GroupSpec& head = groups.emplace_back(GroupSpec{.name = "head"});
  if (d.task == Task::classification)
    add_classifier(head, d);
  else
    add_masked_lm(head, d);
  for (ParameterSpec& p : head.parameters) p.optional = d.head != d.task;
  begin(head);
  return groups;
}

std::string bert_parameter_name(const BertDims& dims, std::string_view saved_name) {
  std::string name(saved_name);
  for (const char* part : {"embeddings.", "encoder.", "pooler."})
    if (name.starts_with(part)) name = "bert." + name;
  for (const auto& [old, now] :
       {std::pair<std::string, std::string>{"LayerNorm.gamma", "LayerNorm.weight"},
        {"LayerNorm.beta", "LayerNorm.bias"}})
    if (name.ends_with(old)) name.replace(name.size() - old.size(), old.size(), now);
  const bool classification = dims.task == Task::classification;
  const bool of_other_head = classification ? name.starts_with("cls.")
                                            : name.starts_with("classifier.") ||
                                                  name.starts_with("bert.pooler.") ||
                                                  name.starts_with("cls.seq_relationship.");
  const bool tied = name == "cls.predictions.decoder.weight" ||
                    name == "cls.predictions.decoder.bias";
  if (of_other_head || tied || name == "bert.embeddings.position_ids" ||
      name.starts_with("qa_outputs."))
    return {};
  return name;
}

}  // namespace trainx::spec
