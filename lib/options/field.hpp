// One description of an option struct serves reading, dumping, help and the JSON Schema:
//   template <class Visitor> void visit_fields(Visitor& field, AdamWOptions& o) { field("beta1",
//   o.beta1, unit_interval(), "decay of the first moment"); ... }
// The field's type says what is written: bool, std::int64_t, double, std::string, an enum with
// enum_names(), Duration, ByteSize, std::optional<T> (null), Auto<T> (auto),
// std::vector<std::string>, std::vector<std::int64_t>.
#pragma once
#include "core/units.hpp"
#include "trainx/option_field.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::options {

/// `auto` (trainx picks, prints and stores) or a value.
template <class T>
struct Auto {
  std::optional<T> value;
  bool is_auto() const { return !value.has_value(); }
};

using trainx::Limits, trainx::anything, trainx::positive, trainx::negative, trainx::non_negative,
    trainx::unit_interval, trainx::fraction, trainx::at_least, trainx::between, trainx::EnumNames;

}  // namespace trainx::options
