#pragma once

namespace trainx::graph {

struct Model;

/// Numbers values as operations make them, so that layers that are alike differ by a constant
/// number (repetition.hpp). For passes that add values.
void number_values(Model& model);

}  // namespace trainx::graph
