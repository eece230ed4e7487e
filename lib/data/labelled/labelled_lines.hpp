#pragma once
#include "data/mapped_file.hpp"
#include "data/source.hpp"

namespace trainx::data::labelled {

/// One file: each line, or each object of a JSON array, is a sample. `options` say how it is read.
std::unique_ptr<Source> open_jsonl(const options::JsonlOptions& options, MappedFile file,
                                   const SourceOptions& how);
/// One file: each line after the first is a sample.
std::unique_ptr<Source> open_csv(const options::CsvOptions& options, MappedFile file,
                                 const SourceOptions& how);
/// A data source of the user's own, whose samples hold what such lines hold. Null: it has no such
/// split.
std::unique_ptr<Source> open_own(const options::OwnDataOptions& options, Split split,
                                 const SourceOptions& how);

}  // namespace trainx::data::labelled
