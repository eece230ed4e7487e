// A field of a jsonl line that a model of the user's own reads.
#pragma once
#include "data/labelled/line.hpp"
#include <optional>
#include <span>

namespace trainx::data::labelled {

/// Takes the events of a field's value: a number, a flat list, or lists nested as the field's dims
/// are. Throws UserError 65 for another shape or type.
class OwnFieldReader {
 public:
  OwnFieldReader(const FieldSpec& spec, OwnField& out, const LinePlace& place)
      : spec_(spec), out_(out), place_(place) {
    out.given = false;
  }
  void number(double x);
  void integer(std::int64_t n);
  void open();
  void close();
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  void count();

  const FieldSpec& spec_;
  OwnField& out_;
  const LinePlace& place_;
  std::vector<std::int64_t> counts_;         // of the lists that are open: what each holds so far
  std::optional<std::size_t> number_depth_;  // lists that its numbers stand in
};

/// Every field is given and full. Throws UserError 65.
void check_own_fields(const std::vector<FieldSpec>& fields, const Line& line,
                      const LinePlace& place);
/// Writes the fields' numbers in their dtypes.
void fill_own_fields(const std::vector<FieldSpec>& fields, const Line& line,
                     const std::vector<std::span<std::byte>>& out);

}  // namespace trainx::data::labelled
