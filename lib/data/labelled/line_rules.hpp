#pragma once
#include "data/labelled/line.hpp"
#include "data/source.hpp"
#include <cstdint>

namespace trainx::data::labelled {

/// document_lengths are those of what input_ids holds, one behind the other. Throws UserError 65.
void check_documents(const Line& line, const LinePlace& place);

/// What a line must hold to be a sample of a run.
struct LineRules {
  Targets targets = Targets::next_token;
  std::int64_t sequence_length = 0, target_length = 0;
  std::int64_t vocab_limit = 0, token_type_limit = 0, num_labels = 0;  // 0: no limit
  bool truncate = false, packed = false;
  bool may_truncate = true;       // the source has an option truncate
  bool reads_tokens = true;       // else a line has own fields alone
  std::vector<FieldSpec> fields;  // that a model of the user's own reads
  // ids of the tokens around a text, ascending, which truncation keeps; empty: not known
  std::vector<std::int64_t> special_tokens = {};

  LineRules(const SourceOptions& how, bool truncate, bool packed = false);
  WantedFields wanted() const;
  bool real_labels() const { return are_numbers(targets); }
  /// Checks a line, and makes of its masks labels and of its position_ids document_lengths. Throws
  /// UserError 65.
  void settle(Line& line, const LinePlace& place) const;
  /// Whether a settled line has anything to learn. Masks that are drawn later count.
  bool has_target(const Line& line) const;
  /// Cuts a line that passed the check to sequence_length and target_length, where the tokens
  /// around its texts are known. Else whoever reads it takes its beginning.
  void shorten(Line& line) const;

 private:
  void check(const Line& line, const LinePlace& place) const;
  std::string remedy_of_length() const;
  void check_token_classes(const Line& line, const LinePlace& place) const;
  void check_label(const Line& line, const LinePlace& place) const;
  void check_numbers(const Line& line, const LinePlace& place) const;
  void check_target(const Line& line, const LinePlace& place) const;
};

}  // namespace trainx::data::labelled
