#pragma once
#include "data/mapped_file.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::data::tokens {

/// What Megatron-LM's FILE.idx says of the tokens in FILE.bin.
struct MegatronIndex {
  std::int64_t width = 0;  // bytes of a token
  std::int64_t tokens = 0;
  std::vector<std::int64_t> documents;  // first token of each
};

/// The index beside a token file: data.bin -> data.idx.
std::string index_path(const std::string& token_path);
/// Throws UserError 65 where it is malformed, of tokens that are no ids, or its sequences do not
/// follow one another in the file.
MegatronIndex read_megatron_index(const MappedFile& file);

}  // namespace trainx::data::tokens
