#pragma once
#include "data/source.hpp"
#include "plan/decisions.hpp"

namespace trainx::plan {

/// How a run reads its data, looking through it at once.
data::SourceOptions source_options(const Decisions& plan);

}  // namespace trainx::plan
