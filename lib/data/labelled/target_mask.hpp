#pragma once
#include "data/labelled/line.hpp"
#include "data/source.hpp"

namespace trainx::data::labelled {

/// Makes labels of a line's masks: a token is learned where all of them have 1, and its label,
/// where labels are given, is no -100. Throws UserError 65 for other values, another count, and for
/// a task that does not learn token by token.
void apply_target_masks(Line& line, Targets targets, const LinePlace& place);

}  // namespace trainx::data::labelled
