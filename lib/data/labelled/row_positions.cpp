#include "data/labelled/row_positions.hpp"

namespace trainx::data::labelled {
namespace {

using Lengths = std::vector<std::int64_t>;

void merge(Line& line, const Lengths& lengths, const std::string& name, const LinePlace& place) {
  Field& documents = line[FieldName::document_lengths];
  if (documents.given && documents.values != lengths)
    place.refuse(name + " and document_lengths say other documents: give one of them");
  documents.given = true;
  documents.values = lengths;
}

/// Of each document, which position 0 begins.
Lengths lengths_of(const Lengths& positions, const LinePlace& place) {
  Lengths lengths;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t next = i > 0 ? positions[i - 1] + 1 : 0;
    if (positions[i] != 0 && positions[i] != next)
      place.refuse("position_ids[" + std::to_string(i) + "] is " + std::to_string(positions[i]) +
                   " where " + std::to_string(next) +
                   " or 0 (a document's beginning) is expected; trainx counts positions itself: "
                   "remove position_ids");
    if (positions[i] == 0) lengths.push_back(0);
    ++lengths.back();
  }
  return lengths;
}

}  // namespace

void settle_positions(Line& line, bool packed, const LinePlace& place) {
  if (line[FieldName::seq_lengths].given)
    merge(line, line[FieldName::seq_lengths].values, "seq_lengths", place);
  const Field& positions = line[FieldName::position_ids];
  if (!positions.given) return;
  const std::size_t ids = line[FieldName::input_ids].values.size();
  if (positions.values.size() != ids)
    place.refuse("position_ids has " + std::to_string(positions.values.size()) +
                 " values, but input_ids " + std::to_string(ids));
  const Lengths lengths = lengths_of(positions.values, place);
  const bool several = lengths.size() > 1;
  if (several && !packed)
    place.refuse("position_ids begins again at token " + std::to_string(lengths.front()) +
                 ", and only data of type jsonl with packed: true keeps documents of a row apart");
  if (several || line[FieldName::document_lengths].given)
    merge(line, lengths, "position_ids", place);
}

}  // namespace trainx::data::labelled
