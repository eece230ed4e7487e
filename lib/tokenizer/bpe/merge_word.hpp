#pragma once
#include "tokenizer/bpe/merge_table.hpp"
#include <cstdint>

namespace trainx::tokenizer {

/// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909): of the neighbours in `symbols` that
/// merge, those of the lowest rank do first, the leftmost where several have it. n symbols take n
/// log n.
void merge_word(std::vector<std::int32_t>& symbols, const MergeTable& merges);

}  // namespace trainx::tokenizer
