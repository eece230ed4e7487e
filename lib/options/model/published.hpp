// What is published of models: their families, as XOptions::described(), and their sizes. Both are
// declared here and defined in lib/architectures, where a family is one file: who calls them links
// trainx_architectures.
#pragma once
#include "options/model/options.hpp"
#include <cstdint>
#include <string_view>
#include <vector>

namespace trainx::options {

/// A size that model.size may name.
struct PublishedSize {
  std::string_view name;
  std::int64_t num_heads = 0, hidden_size = 0, max_positions = 0;
  std::int64_t head_size = 0;  // 0: hidden_size / num_heads
};
/// Of the options' family; the first is the default.
std::vector<PublishedSize> published_sizes(const Gpt2Options& o);
std::vector<PublishedSize> published_sizes(const BertOptions& o);
std::vector<PublishedSize> published_sizes(const DecoderOptions& o);
std::vector<PublishedSize> published_sizes(const Seq2SeqOptions& o);

}  // namespace trainx::options
