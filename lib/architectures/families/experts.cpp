// Keys of config.json that describe mixtures of experts.
#include "architectures/families/family.hpp"
#include <algorithm>

namespace trainx::architectures {

using nlohmann::json;
using operations::Router;

namespace {

/// Of a layer without experts they mean nothing.
void ask_all(const ConfigReader& file) {
  for (const char* key :
       {"n_routed_experts", "n_shared_experts", "num_experts", "num_local_experts",
        "num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size",
        "routed_scaling_factor", "n_group", "topk_group", "topk_method", "norm_topk_prob",
        "moe_layer_freq", "output_router_logits", "router_aux_loss_coef", "router_jitter_noise",
        "num_nextn_predict_layers", "num_mtp_layers"})
    file.find(key);
}

std::int64_t count_of(const ConfigReader& file, const std::vector<const char*>& keys,
                      std::int64_t usual) {
  const auto there = std::ranges::find_if(keys, [&](const char* k) { return file.find(k); });
  const char* const key = there == keys.end() ? keys.front() : *there;
  for (const char* other : keys)
    if (file.find(other) && file.dimension(other) != file.dimension(key))
      file.fail(std::string(key) + " and " + other + " are spellings of one number and differ");
  return file.dimension(key, usual > 0 ? std::optional(usual) : std::nullopt);
}

/// Of those that transformers computes.
void check_groups(const ConfigReader& file, const Router& r) {
  const auto number = [](std::int64_t n) { return " (" + std::to_string(n) + ")"; };
  if (r.per_token > r.experts)
    file.fail("num_experts_per_tok" + number(r.per_token) + " must be at most the experts" +
              number(r.experts));
  if (r.kept_groups > r.groups)
    file.fail("topk_group" + number(r.kept_groups) + " must be at most n_group" + number(r.groups));
  if (r.groups == 1) return;
  const std::int64_t each = r.experts / r.groups;
  if (r.experts % r.groups != 0 || each < 2)
    file.fail("n_group" + number(r.groups) + " must divide the experts" + number(r.experts) +
              " into groups of at least 2");
  if (r.per_token > r.kept_groups * each)
    file.fail("num_experts_per_tok" + number(r.per_token) + " must be at most the experts of " +
              "topk_group" + number(r.kept_groups) + " groups" + number(r.kept_groups * each));
}

}  // namespace

void FamilyReader::experts(const ExpertKeys& keys, std::vector<char> layers) {
  ask_all(file_);
  if (std::ranges::find(layers, 1) == layers.end()) return;
  Experts& e = d_.experts;
  e.layers = std::move(layers);
  e.router = keys.router;
  e.router.experts = count_of(file_, keys.count, keys.usual_count);
  for (const char* key : keys.count)
    if (file_.find(key)) e.count_keys.emplace_back(key);
  if (e.count_keys.empty()) e.count_keys.emplace_back(keys.count.front());
  const std::int64_t usual = keys.usual_per_token;
  e.router.per_token =
      file_.dimension("num_experts_per_tok", usual > 0 ? std::optional(usual) : std::nullopt);
  e.features = keys.features ? file_.dimension(keys.features, keys.usual_features)
                             : d_.intermediate_size;
  check_groups(file_, e.router);
  file_.require("moe_layer_freq", {1});
  file_.require("router_jitter_noise", {0.0, 0});
  const double loss =
      file_.number("router_aux_loss_coef", keys.usual_loss.value_or(0), non_negative());
  if (flag("output_router_logits", false) && keys.usual_loss) e.loss = loss;
}

void FamilyReader::grouped_experts(GroupedExperts usual) {
  const json* first = file_.find("first_k_dense_replace");
  if (first && (!first->is_number_integer() || first->get<std::int64_t>() < 0))
    file_.fail("first_k_dense_replace is " + shown(*first) +
               "; it must be a whole number of at least 0");
  const std::int64_t dense = first ? first->get<std::int64_t>() : usual.usual_dense;
  std::vector<char> layers(static_cast<std::size_t>(d_.num_layers));
  for (std::int64_t i = dense; i < d_.num_layers && !file_.is_null("n_routed_experts"); ++i)
    layers[static_cast<std::size_t>(i)] = 1;
  Router& r = usual.keys.router;
  if (usual.corrects) {
    r.score = Router::Score::sigmoid;
    r.group_score = Router::GroupScore::two_largest;
    r.normalized = flag("norm_topk_prob", r.normalized);
  }
  r.scale = positive_number("routed_scaling_factor", r.scale);
  if (usual.groups) {
    r.groups = file_.dimension("n_group", r.groups);
    r.kept_groups = file_.dimension("topk_group", r.kept_groups);
  }
  experts(usual.keys, std::move(layers));
  Experts& e = d_.experts;
  if (usual.later_layers)
    for (const char* key : {"num_nextn_predict_layers", "num_mtp_layers"})
      if (const json* n = file_.find(key); e.later_layers == 0)
        e.later_layers = n && n->is_number_integer() ? n->get<std::int64_t>() : 1;
  if (!e) return;
  if (usual.corrects) e.names.correction = e.names.router + ".e_score_correction_bias";
  e.shared_features = e.features *
                      file_.dimension("n_shared_experts", usual.usual_shared > 0
                                                              ? std::optional(usual.usual_shared)
                                                              : std::nullopt);
}

}  // namespace trainx::architectures
