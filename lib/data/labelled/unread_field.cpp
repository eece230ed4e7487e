#include "data/labelled/unread_field.hpp"
#include <algorithm>
#include <string>
#include <utility>

namespace trainx::data::labelled {
namespace {

constexpr std::string_view give_labels = "name it labels: a target for each of the input_ids",
                           give_mask =
                               "name it loss_mask: 1 for each token that is learned, else 0",
                           weighs = "trainx weighs all targets alike: remove it",
                           documents = "give the tokens of each document as document_lengths",
                           shifts = "trainx makes it of labels: remove it",
                           no_padding = "give the tokens without padding, which trainx adds itself",
                           give_mask_of_prompt =
                               "give loss_mask, 1 for each token that is learned, else 0",
                           no_such_task = "trainx has no such task: remove it",
                           text_alone = "trainx trains models of text alone: remove it";

constexpr std::pair<std::string_view, std::string_view> refused[] = {
    {"label_ids", give_labels},
    {"labels_ids", give_labels},
    {"target_ids", give_labels},
    {"targets", give_labels},
    {"lm_labels", give_labels},
    {"masked_lm_labels", give_labels},
    {"shift_labels", "give labels as they are, not shifted"},
    {"mask", "name it attention_mask or loss_mask, as it is meant"},
    {"masks", "name it attention_mask or loss_mask, as it is meant"},
    {"answer_mask", give_mask},
    {"assistant_tokens_mask", give_mask},
    {"label_mask", give_mask},
    {"labels_mask", give_mask},
    {"output_mask", give_mask},
    {"response_mask", give_mask},
    {"target_mask", give_mask},
    {"targets_mask", give_mask},
    {"train_mask", give_mask},
    {"trainable_mask", give_mask},
    {"prompt_mask", give_mask_of_prompt},
    {"ignore_mask", give_mask_of_prompt},
    {"prompt_len", give_mask_of_prompt},
    {"prompt_length", give_mask_of_prompt},
    {"prompt_tokens", give_mask_of_prompt},
    {"num_prompt_tokens", give_mask_of_prompt},
    {"source_len", give_mask_of_prompt},
    {"source_length", give_mask_of_prompt},
    {"answer_start", give_mask_of_prompt},
    {"completion_start", give_mask_of_prompt},
    {"response_start", give_mask_of_prompt},
    {"padding_mask", no_padding},
    {"pad_mask", no_padding},
    {"decoder_labels", give_labels},
    {"label_tokens", give_labels},
    {"mask_labels", give_labels},
    {"target_tokens", give_labels},
    {"loss_scale", weighs},
    {"loss_weight", weighs},
    {"loss_weights", weighs},
    {"label_weights", weighs},
    {"sample_weight", weighs},
    {"sample_weights", weighs},
    {"token_weights", weighs},
    {"weights", weighs},
    {"cu_seqlens", documents},
    {"cu_seq_lens", documents},
    {"cu_seq_lens_q", documents},
    {"cu_seq_lens_k", documents},
    {"segment_ids", "give document_lengths for rows of documents, token_type_ids for segments"},
    {"seq_idx", documents},
    {"seq_lens", documents},
    {"seqlens", documents},
    {"sequence_lengths", documents},
    {"decoder_input_ids", shifts},
    {"decoder_attention_mask", shifts},
    {"global_attention_mask", "trainx has no such attention: remove it"},
    {"inputs_embeds", "trainx trains on input_ids: remove it"},
    {"next_sentence_label", no_such_task},
    {"sentence_order_label", no_such_task},
    {"start_positions", no_such_task},
    {"end_positions", no_such_task},
    {"pixel_values", text_alone},
    {"input_features", text_alone},
};

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return out;
}

/// Whether one insertion, deletion, replacement or swap of neighbours makes `b` of `a`.
bool within_one_edit(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  const auto differ = std::ranges::mismatch(a, b);
  const auto from = static_cast<std::size_t>(differ.in1 - a.begin());
  const std::string_view rest_a = a.substr(from), rest_b = b.substr(from);
  if (rest_b.size() <= 1) return true;
  if (rest_a.size() < rest_b.size()) return rest_a == rest_b.substr(1);
  if (rest_a.substr(1) == rest_b.substr(1)) return true;
  return rest_a.size() >= 2 && rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0] &&
         rest_a.substr(2) == rest_b.substr(2);
}

std::string known_remedy(std::string_view name) {
  const auto found =
      std::ranges::find(refused, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(refused) ? "" : std::string(found->second);
}

}  // namespace

std::string remedy_of_unread(std::string_view name) {
  if (std::string known = known_remedy(name); !known.empty()) return known;
  if (name == "special_tokens_mask" || std::ranges::find(field_names, name) != field_names.end())
    return "";
  if (name.ends_with("_mask") || name.ends_with("_masks"))
    return "name it loss_mask if it says which tokens are learned, else remove it";
  return name == "weight" || name.ends_with("_weight") || name.ends_with("_weights")
             ? std::string(weighs)
             : "";
}

std::optional<FieldName> near_miss(std::string_view name, const WantedFields& wanted) {
  constexpr std::size_t longest = 24;
  const bool is_word = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == ' ';
  });
  if (!is_word || name.size() < 4 || name.size() > longest) return std::nullopt;
  const std::string word = folded(name);
  for (std::size_t f = 0; f < field_names.size(); ++f) {
    if (!within_one_edit(word, folded(field_names[f]))) continue;
    const auto field = static_cast<FieldName>(f);
    if (wanted[f]) return field;
    if (field == FieldName::label && wanted[static_cast<std::size_t>(FieldName::labels)])
      return FieldName::labels;
  }
  return std::nullopt;
}

bool may_matter(std::string_view name) {
  return !remedy_of_unread(name).empty() || near_miss(name, all_fields());
}

bool may_mean_target(std::string_view name) {
  WantedFields of_targets{};
  for (const FieldName f : {FieldName::labels, FieldName::label, FieldName::completion_mask,
                            FieldName::assistant_masks, FieldName::loss_mask})
    of_targets[static_cast<std::size_t>(f)] = true;
  return !known_remedy(name).empty() || near_miss(name, of_targets);
}

std::string remedy_beside_answers(std::string_view name) {
  constexpr std::string_view masks[] = {"assistant_mask", "assistant_masks", "completion_mask",
                                        "loss_mask",      "response_mask",   "target_mask",
                                        "train_mask"};
  constexpr std::string_view weights[] = {"loss_scale",    "loss_weight",    "loss_weights",
                                          "sample_weight", "sample_weights", "weight"};
  if (std::ranges::find(masks, name) != std::end(masks))
    return "give input_ids and the mask, or say \"weight\": 0 in a turn that is not learned";
  if (std::ranges::find(weights, name) != std::end(weights))
    return "trainx weighs all samples alike: take out those that are not learned, then remove it";
  return "";
}

void refuse_near_miss(std::string_view name, FieldName meant, const LinePlace& place) {
  place.refuse("has " + std::string(name) + ", which trainx does not read; did you mean " +
               std::string(field_names[static_cast<std::size_t>(meant)]) +
               "? Rename it, or remove it");
}

void refuse_unread(std::string_view name, const LinePlace& place) {
  place.refuse(
      "has " + std::string(name) +
      ", which trainx does not read and other tools learn from: " + remedy_of_unread(name));
}

}  // namespace trainx::data::labelled
