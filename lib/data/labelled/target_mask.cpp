#include "data/labelled/target_mask.hpp"

namespace trainx::data::labelled {
namespace {

/// Why a task cannot follow a mask; empty: it can.
std::string refusal_of(Targets targets, bool has_labels) {
  switch (targets) {
    case Targets::next_token:
    case Targets::token_class: return "";
    case Targets::own_token:
      return has_labels ? "" : "masked_lm draws what it learns: remove the field, or give labels";
    case Targets::another_text: return "seq2seq learns what labels has: write -100 there";
    case Targets::label:
    case Targets::numbers:
    case Targets::shares: return "classification learns no tokens: remove the field";
  }
  return "";
}

}  // namespace

void apply_target_masks(Line& line, Targets targets, const LinePlace& place) {
  const auto& ids = line[FieldName::input_ids].values;
  Field& labels = line[FieldName::labels];
  for (const FieldName name : target_masks) {
    const Field& mask = line[name];
    if (!mask.given) continue;
    const std::string text(field_names[static_cast<std::size_t>(name)]);
    if (const std::string why = refusal_of(targets, labels.given); !why.empty())
      place.refuse("has " + text + ", and " + why);
    if (mask.values.size() != ids.size())
      place.refuse(text + " has " + std::to_string(mask.values.size()) + " values, but input_ids " +
                   std::to_string(ids.size()));
    if (labels.given && labels.values.size() != ids.size())
      place.refuse("has " + text + " and labels of another length than input_ids");
    if (!labels.given) labels.values = ids;
    labels.given = true;
    for (std::size_t i = 0; i < mask.values.size(); ++i) {
      if (mask.values[i] != 0 && mask.values[i] != 1)
        place.refuse(text + "[" + std::to_string(i) + "] is " + std::to_string(mask.values[i]) +
                     "; 1 says that a token is learned, 0 that it is not");
      if (mask.values[i] == 0) labels.values[i] = no_target;
    }
  }
}

}  // namespace trainx::data::labelled
