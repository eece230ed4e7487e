#pragma once
#include "data/labelled/line.hpp"
#include "tokenizer/tokenizer.hpp"
#include <cstdint>

namespace trainx::corpus {

struct MaskedSample;

/// Appends the line of labelled data (data.type: jsonl) that a sample is: {"input_ids": [...],
/// "token_type_ids": [...], "label": 1}. Types that are all 0 are left out.
void append_sample_line(const tokenizer::Encoding& sample, std::optional<std::int64_t> label,
                        std::string& out);
/// A sample that came as tokens.
void append_sample_line(const data::labelled::Line& sample, std::string& out);
/// {"input_ids": [...], "labels": [...]}
void append_sample_line(const MaskedSample& sample, std::string& out);

}  // namespace trainx::corpus
