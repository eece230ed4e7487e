#pragma once
#include "data/source.hpp"

namespace trainx::data {

/// The sources of a mixture that have the split, one after another; mixture_order gives each its
/// share. Null where none has it.
std::unique_ptr<Source> open_mixture(const options::MixtureOptions& options, Split split,
                                     const SourceOptions& how);

}  // namespace trainx::data
