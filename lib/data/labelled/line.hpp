// One line of labelled data, whatever its notation, and where it stands.
#pragma once
#include "core/field_spec.hpp"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::data::labelled {

enum class FieldName : std::uint8_t {
  input_ids,
  token_type_ids,
  attention_mask,
  labels,
  label,
  document_lengths,
  // 1 for each token that is learned, 0 for the others
  completion_mask,
  assistant_masks,
  loss_mask,
  position_ids,
  seq_lengths  // TRL's document_lengths
};
constexpr std::array<std::string_view, 11> field_names{
    "input_ids", "token_type_ids",   "attention_mask",  "labels",
    "label",     "document_lengths", "completion_mask", "assistant_masks",
    "loss_mask", "position_ids",     "seq_lengths"};
constexpr std::array target_masks{FieldName::completion_mask, FieldName::assistant_masks,
                                  FieldName::loss_mask};
constexpr bool is_target_mask(FieldName name) {
  return name >= target_masks.front() && name <= target_masks.back();
}
/// Which fields are read; others are columns that trainx has no use for.
using WantedFields = std::array<bool, field_names.size()>;
constexpr WantedFields all_fields() {
  WantedFields all{};
  all.fill(true);
  return all;
}

struct Field {
  bool given = false;
  std::vector<std::int64_t> values;  // of `label`: one
};
/// The numbers of a FieldSpec: integers of i64, else numbers.
struct OwnField {
  bool given = false;
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
};
struct Line {
  std::array<Field, field_names.size()> fields;
  // of `label` or `labels` where they are real numbers: their fields have no values then
  std::vector<double> numbers;
  std::vector<OwnField> own;  // of each of the fields that a model of the user's own reads
  Field& operator[](FieldName name) { return fields[static_cast<std::size_t>(name)]; }
  const Field& operator[](FieldName name) const { return fields[static_cast<std::size_t>(name)]; }
  void clear() {
    numbers.clear();
    own.clear();
    for (Field& field : fields) {
      field.given = false;
      field.values.clear();
    }
  }
};

/// As where text is tokenized.
constexpr std::size_t longest_line = std::size_t{64} << 20;

struct LinePlace {
  const std::string& path;
  std::int64_t number = 1;  // of the line, from 1
  std::int64_t record = 0;  // of a JSON array, from 1; 0: a line is a record
  std::string unit() const { return record > 0 ? "record" : "line"; }
  /// Throws UserError 65: `file:line: what`.
  [[noreturn]] void refuse(const std::string& what) const;
  /// Refuses a text that would take gigabytes as numbers.
  void check_size(std::string_view text) const;
};

/// From a line's text to its fields. Thread-safe.
class LineParser {
 public:
  virtual ~LineParser() = default;
  /// `out` comes in cleared. Throws UserError 65.
  virtual void parse(std::string_view text, const LinePlace& place, Line& out) const = 0;
};

}  // namespace trainx::data::labelled
