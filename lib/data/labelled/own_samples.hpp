#pragma once
#include "data/labelled/sample_reader.hpp"
#include "trainx/data_source_definition.hpp"
#include <memory>

namespace trainx::data::labelled {

/// Samples of a source of the user's own. `fields`: that a model of the user's own reads; `real`:
/// labels are real numbers. Their place is `name` (source and split) and the position, from 0.
std::unique_ptr<SampleReader> make_own_samples(std::shared_ptr<const DataSource> source,
                                               std::string name, std::vector<FieldSpec> fields,
                                               bool real_labels);

}  // namespace trainx::data::labelled
