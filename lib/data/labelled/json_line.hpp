#pragma once
#include "data/labelled/line.hpp"
#include <memory>

namespace trainx::data::labelled {

/// A JSON object a line: {"input_ids": [101, 7592, 102], "label": 1}. null is as good as no field.
/// real_labels: label or labels is a real number or a list of some. `own`: fields that a model of
/// the user's own reads: numbers, lists of numbers, or lists nested as their dims are; one of a
/// name above is read as that field alone.
std::unique_ptr<LineParser> make_json_parser(const WantedFields& wanted, bool real_labels = false,
                                             std::vector<FieldSpec> own = {});

}  // namespace trainx::data::labelled
