#pragma once
#include "data/labelled/line.hpp"
#include "tokenizer/tokenizer.hpp"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace trainx::corpus {

struct MaskedSample;

/// Appends the line of labelled data (data.type: jsonl) that a sample is: {"input_ids": [...],
/// "token_type_ids": [...], "label": 1}, or "labels" of a list. Types that are all 0 are left out.
void append_sample_line(const tokenizer::Encoding& sample,
                        const std::optional<nlohmann::json>& label, std::string& out);
/// A sample that came as tokens; `label`: of numbers, which its fields do not hold.
void append_sample_line(const data::labelled::Line& sample,
                        const std::optional<nlohmann::json>& label, std::string& out);
/// {"input_ids": [...], "labels": [...]}
void append_sample_line(const MaskedSample& sample, std::string& out);

}  // namespace trainx::corpus
