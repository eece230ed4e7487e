// Fields that trainx does not read, of which some must not be left out without a word.
#pragma once
#include "data/labelled/line.hpp"
#include <optional>

namespace trainx::data::labelled {

/// What to do about a field that other tools learn from, or that belongs to a model of another
/// kind: an imperative. Empty: the field says nothing of the loss, as ids and sources.
std::string remedy_of_unread(std::string_view name);

/// The field of `wanted` that a name is one edit from: case, '-' and '_' do not count. `label` is
/// meant for labels where there is no label.
std::optional<FieldName> near_miss(std::string_view name, const WantedFields& wanted);

/// Whether a column is one that lines of token ids have, a near miss of one, or one that other
/// tools learn from.
bool may_matter(std::string_view name);
/// Whether a name beside a text may be meant for its class or for what is learned of it: labels,
/// loss_mask, lable, sample_weight.
bool may_mean_target(std::string_view name);

/// What to do about a field beside a question and its answer, or beside messages, by which other
/// tools learn less or more of the sample; empty: it is none.
std::string remedy_beside_answers(std::string_view name);

/// "has lables, which trainx does not read: did you mean labels?"
[[noreturn]] void refuse_near_miss(std::string_view name, FieldName meant, const LinePlace& place);
/// "has loss_weights, which ...: remedy"
[[noreturn]] void refuse_unread(std::string_view name, const LinePlace& place);

}  // namespace trainx::data::labelled
