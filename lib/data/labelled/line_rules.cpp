#include "data/labelled/line_rules.hpp"
#include "data/labelled/own_field.hpp"
#include "data/labelled/row_positions.hpp"
#include "data/labelled/shorten.hpp"
#include "data/labelled/target_mask.hpp"
#include "core/error.hpp"
#include "core/number.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace trainx::data::labelled {
namespace {

constexpr std::int64_t most_ids = std::int64_t{1} << 31;  // an int32 holds those below

std::string name_of(FieldName name) {
  return std::string(field_names[static_cast<std::size_t>(name)]);
}

/// Every value is in [0, limit), or no_target where that is allowed.
void check_range(const Line& line, const LinePlace& place, FieldName name, std::int64_t limit,
                 bool may_be_no_target, const std::string& beyond) {
  const auto& values = line[name].values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] < limit) continue;
    if (may_be_no_target && values[i] == no_target) continue;
    const std::string at = name_of(name) +
                           (name == FieldName::label ? "" : "[" + std::to_string(i) + "]") +
                           " is " + std::to_string(values[i]);
    place.refuse(at + (values[i] < 0 ? ", less than 0" : ", " + beyond));
  }
}

}  // namespace

void LinePlace::check_size(std::string_view text) const {
  if (text.size() > longest_line) refuse("is longer than 64 MiB");
}

void LinePlace::refuse(const std::string& what) const {
  const std::string at = path + ":" + std::to_string(number) + ": ";
  throw UserError(ExitCode::bad_data,
                  at + (record > 0 ? "record " + std::to_string(record) + " " : "") + what);
}

void check_documents(const Line& line, const LinePlace& place) {
  std::int64_t left = static_cast<std::int64_t>(line[FieldName::input_ids].values.size());
  for (const std::int64_t length : line[FieldName::document_lengths].values) {
    if (length < 1 || length > left)
      place.refuse("document_lengths has " + std::to_string(length) + " where " +
                   std::to_string(left) + " of the input_ids are left");
    left -= length;
  }
  if (left > 0)
    place.refuse("document_lengths leaves " + std::to_string(left) +
                 " of the input_ids to no document");
}

LineRules::LineRules(const SourceOptions& how, bool truncated, bool documents)
    : targets(how.targets),
      sequence_length(how.sequence_length),
      target_length(how.target_length),
      vocab_limit(how.vocab_limit),
      token_type_limit(how.token_type_limit),
      num_labels(how.num_labels),
      truncate(truncated),
      packed(documents),
      reads_tokens(how.reads_tokens),
      fields(how.fields) {}

WantedFields LineRules::wanted() const {
  if (!reads_tokens) return {};
  const bool of_tokens = targets != Targets::label, of_sample = targets == Targets::label;
  WantedFields all = all_fields();
  all[static_cast<std::size_t>(FieldName::labels)] = of_tokens;
  all[static_cast<std::size_t>(FieldName::label)] = of_sample || real_labels();
  return all;
}

std::string LineRules::remedy_of_length() const {
  return may_truncate ? "raise it, cut the data, or set data.truncate to true"
                      : "raise it, or give shorter samples";
}

void LineRules::check_target(const Line& line, const LinePlace& place) const {
  const Field& labels = line[FieldName::labels];
  if (!labels.given || labels.values.empty())
    place.refuse("has no labels, which seq2seq learns to write");
  const auto length = static_cast<std::int64_t>(labels.values.size());
  if (length > target_length && !truncate)
    place.refuse("has " + std::to_string(length) + " labels, more than data.target_length (" +
                 std::to_string(target_length) + "): " + remedy_of_length());
}

void LineRules::settle(Line& line, const LinePlace& place) const {
  if (reads_tokens) settle_positions(line, packed, place);
  check(line, place);
  if (reads_tokens) apply_target_masks(line, targets, place);
}

bool LineRules::has_target(const Line& line) const {
  if (!reads_tokens || targets == Targets::label || real_labels()) return true;
  const Field& labels = line[FieldName::labels];
  const bool drawn = targets == Targets::own_token && !labels.given;
  if (drawn) return true;
  const auto& values = labels.given ? labels.values : line[FieldName::input_ids].values;
  const std::int64_t longest = targets == Targets::another_text ? target_length : sequence_length;
  const auto end = std::min(values.size(), static_cast<std::size_t>(longest));
  if (targets != Targets::next_token)
    return std::any_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(end),
                       [](std::int64_t value) { return value != no_target; });
  // The first token of a document has no token before it.
  const std::vector<std::int64_t> one{static_cast<std::int64_t>(values.size())};
  const Field& documents = line[FieldName::document_lengths];
  std::size_t begin = 0;
  for (const std::int64_t tokens : documents.given ? documents.values : one) {
    const std::size_t behind = std::min(begin + static_cast<std::size_t>(tokens), end);
    for (std::size_t i = begin + 1; i < behind; ++i)
      if (values[i] != no_target) return true;
    begin = behind;
  }
  return false;
}

void LineRules::check(const Line& line, const LinePlace& place) const {
  check_own_fields(fields, line, place);
  if (!reads_tokens) return;
  const Field& ids = line[FieldName::input_ids];
  if (!ids.given)
    place.refuse(
        "has no input_ids: `trainx data tokenize FILE --tokenizer FOLDER --out OUT.jsonl` "
        "makes them of text");
  if (ids.values.empty()) place.refuse("input_ids is empty");
  for (const FieldName name :
       {FieldName::token_type_ids, FieldName::attention_mask, FieldName::labels}) {
    const std::size_t count = line[name].values.size();
    const bool of_another = name == FieldName::labels && targets == Targets::another_text;
    if (of_another || (name == FieldName::labels && real_labels())) continue;
    if (line[name].given && count != ids.values.size()) {
      place.refuse(name_of(name) + " has " + std::to_string(count) + " values, but input_ids " +
                   std::to_string(ids.values.size()));
    }
  }
  if (line[FieldName::document_lengths].given) {
    if (!packed)
      place.refuse(
          "has document_lengths, and only data of type jsonl with packed: true keeps documents of "
          "a row apart");
    check_documents(line, place);
  }
  const auto length = static_cast<std::int64_t>(ids.values.size());
  if (length > sequence_length && !truncate) {
    place.refuse("has " + std::to_string(length) + " tokens, more than data.sequence_length (" +
                 std::to_string(sequence_length) + "): " + remedy_of_length());
  }
  if (targets == Targets::another_text) check_target(line, place);
  const std::int64_t limit = vocab_limit > 0 ? vocab_limit : most_ids;
  const std::string beyond = "beyond the vocabulary of " + std::to_string(limit) +
                             ": correct the data or model.options.vocab_size";
  check_range(line, place, FieldName::input_ids, limit, false, beyond);
  if (targets == Targets::token_class)
    check_token_classes(line, place);
  else
    check_range(line, place, FieldName::labels, limit, true, beyond);
  const std::int64_t types = token_type_limit > 0 ? token_type_limit : most_ids;
  check_range(line, place, FieldName::token_type_ids, types, false,
              "but the model knows " + std::to_string(types) + " token types");
  for (const std::int64_t attended : line[FieldName::attention_mask].values) {
    if (attended != 1)
      place.refuse("attention_mask has " + std::to_string(attended) +
                   ": give the tokens without padding, which trainx adds itself");
  }
  if (targets == Targets::label) check_label(line, place);
  if (real_labels()) check_numbers(line, place);
}

void LineRules::shorten(Line& line) const {
  if (!truncate || !reads_tokens || targets == Targets::next_token) return;
  const auto cut = [&](FieldName name, std::int64_t most, std::initializer_list<FieldName> beside) {
    std::vector<std::int64_t>& ids = line[name].values;
    if (static_cast<std::int64_t>(ids.size()) <= most) return;
    const bool is_text = name == FieldName::input_ids;
    const auto places = places_to_keep(
        ids, is_text ? line[FieldName::token_type_ids].values : std::vector<std::int64_t>{},
        special_tokens, static_cast<std::size_t>(most));
    if (places.empty()) return;
    for (const FieldName field : beside) keep_places(places, line[field]);
    keep_places(places, line[name]);
  };
  const bool of_another = targets == Targets::another_text;
  if (of_another) cut(FieldName::labels, target_length, {});
  if (of_another || real_labels())
    cut(FieldName::input_ids, sequence_length,
        {FieldName::token_type_ids, FieldName::attention_mask});
  else
    cut(FieldName::input_ids, sequence_length,
        {FieldName::token_type_ids, FieldName::attention_mask, FieldName::labels});
}

void LineRules::check_label(const Line& line, const LinePlace& place) const {
  if (!line[FieldName::label].given)
    place.refuse(
        "has no label, the class of the sample; for numbers or several labels set "
        "model.options.problem_type");
  const std::int64_t classes = num_labels > 0 ? num_labels : most_ids;
  check_range(
      line, place, FieldName::label, classes, false,
      "but the classes are 0 to " + std::to_string(classes - 1) + " (model.options.num_labels)");
}

void LineRules::check_token_classes(const Line& line, const LinePlace& place) const {
  if (!line[FieldName::labels].given)
    place.refuse("has no labels: token_classification takes one for each of the input_ids");
  const std::int64_t classes = num_labels > 0 ? num_labels : most_ids;
  check_range(
      line, place, FieldName::labels, classes, true,
      "but the classes are 0 to " + std::to_string(classes - 1) + " (model.options.num_labels)");
}

void LineRules::check_numbers(const Line& line, const LinePlace& place) const {
  const bool one = line[FieldName::label].given, several = line[FieldName::labels].given;
  if (!one && !several) place.refuse("has no label");
  if (one && several) place.refuse("has both label and labels: give one of them");
  const std::string name = name_of(one ? FieldName::label : FieldName::labels);
  const auto count = static_cast<std::int64_t>(line.numbers.size());
  if (count == 0) place.refuse(name + " is empty");
  if (num_labels > 0 && count != num_labels)
    place.refuse(name + " has " + std::to_string(count) + " numbers, but the model " +
                 std::to_string(num_labels) + " (model.options.num_labels)");
  for (const double x : line.numbers) {
    if (!(std::abs(x) <= std::numeric_limits<float>::max()))
      place.refuse(name + " has a number that fp32 does not hold");
    if (targets == Targets::shares && !(x >= 0 && x <= 1))
      place.refuse(name + " has " + shortest(x) +
                   "; labels of multi_label_classification are from 0 to 1");
  }
}

}  // namespace trainx::data::labelled
