// Names of classes and tags, of which labels are made.
#pragma once
#include "corpus/record.hpp"
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace trainx::corpus {

/// Names of classes: the i-th is class i.
class LabelNames {
 public:
  LabelNames() = default;
  /// In the order given. Throws UserError 2 for a name that is empty or given twice.
  explicit LabelNames(std::vector<std::string> names);
  /// Sorted, as transformers' examples do: whole numbers by their size, else byte by byte.
  explicit LabelNames(const std::set<std::string>& names);

  bool empty() const { return names_.empty(); }
  const std::vector<std::string>& names() const { return names_; }
  /// Makes classes of the names that a record has as its label or tags. Throws UserError 65 for a
  /// name that is none of these, and for a number beside names.
  void replace(Record& record, const FieldNames& fields,
               const data::labelled::LinePlace& place) const;

 private:
  std::int64_t class_of(const std::string& name, const std::string& field,
                        const data::labelled::LinePlace& place) const;

  std::vector<std::string> names_;
  std::map<std::string, std::int64_t, std::less<>> classes_;
};

/// The names that a record has instead of classes.
void collect_names(const Record& record, std::set<std::string>& names);
/// "A,B,C", or those that lie in FILE.json beside a file of labelled lines. Throws UserError:
/// 2, 65.
LabelNames named_labels(const std::string& given);

}  // namespace trainx::corpus
