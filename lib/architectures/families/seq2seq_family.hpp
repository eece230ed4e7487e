// A family of encoder-decoders: how its config.json reads.
#pragma once
#include "architectures/config_reader.hpp"
#include "architectures/seq2seq.hpp"
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::architectures {

struct Seq2SeqFamily {
  std::string_view name, summary;
  void (*read)(const ConfigReader&, Seq2SeqDims&);
  /// Keys of config.json that the sizes of a recipe stand for.
  struct SizeKeys {
    const char *layers, *decoder_layers, *heads, *head_size, *hidden_size, *intermediate_size,
        *max_positions;
    /// Beside a key: others that say the same of the decoder.
    const char *decoder_heads = nullptr, *decoder_intermediate_size = nullptr;
  } keys;
  /// Keys of dropouts; a family that lacks the latter has one rate for all.
  struct Dropouts {
    const char *hidden, *attention = nullptr, *activation = nullptr;
  } dropouts;
  /// What absent ids mean, and where targets are padded.
  struct Targets {
    std::int64_t pad;                   // pad_token_id
    std::optional<std::int64_t> start;  // decoder_start_token_id; none: it must be there
    bool wrap = false;                  // a target's last token stands before it
    bool pad_row_is_zero = true;        // the padding's embedding, which no gradient changes
  } targets;
  /// Published sizes: name, and what config.json says. The first is the default.
  std::vector<std::pair<std::string_view, std::string_view>> sizes;
};
/// All there are.
const std::vector<Seq2SeqFamily>& seq2seq_families();
const Seq2SeqFamily* find_seq2seq_family(std::string_view name);

// One list a file of families.
std::vector<Seq2SeqFamily> t5_families();
std::vector<Seq2SeqFamily> bart_families();

}  // namespace trainx::architectures
