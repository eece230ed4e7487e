#pragma once
#include "data/labelled/line.hpp"

namespace trainx::data::labelled {

/// Reads seq_lengths and position_ids into document_lengths, which must agree. Positions that begin
/// again at 0 begin a document; others than 0, 1, 2, ... are refused, and of a row that is not
/// `packed` those that begin again. Throws UserError 65.
void settle_positions(Line& line, bool packed, const LinePlace& place);

}  // namespace trainx::data::labelled
