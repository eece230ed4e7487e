#pragma once
#include "data/source.hpp"
#include "plan/draft.hpp"

namespace trainx::plan {

/// How a run reads its data, looking through it at once.
data::SourceOptions source_options(const Draft& plan);

}  // namespace trainx::plan
