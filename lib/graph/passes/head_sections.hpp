#pragma once
#include "graph/model.hpp"
#include <vector>

namespace trainx::graph {

/// Does the operation need all rows of a sample, and go by heads?
bool is_of_heads(const operations::Operation& operation);

/// Which heads lie side by side in what such an operation reads as `input`, of so many columns;
/// empty: that input has no heads.
std::vector<operations::HeadSection> head_sections(const operations::Operation& operation,
                                                   int input, std::int64_t columns);

}  // namespace trainx::graph
