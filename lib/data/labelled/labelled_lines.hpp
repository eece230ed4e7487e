#pragma once
#include "data/source.hpp"

namespace trainx::data::labelled {

/// Files of which each line is a sample. Null where the split names no file.
std::unique_ptr<Source> open_jsonl(const spec::JsonlOptions& options, Split split, const SourceOptions& how);
std::unique_ptr<Source> open_csv(const spec::CsvOptions& options, Split split, const SourceOptions& how);

}  // namespace trainx::data::labelled
