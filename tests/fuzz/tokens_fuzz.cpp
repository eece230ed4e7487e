#include "data/tokens/token_file.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/samples.hpp"

namespace trainx::fuzz {

void fuzz_tokens(Bytes bytes) {
  const MemoryFile file(bytes);
  for (const std::optional<options::TokenFileType> type :
       {std::optional<options::TokenFileType>(), std::optional(options::TokenFileType::uint16),
        std::optional(options::TokenFileType::uint32)}) {
    options::TokensOptions options;
    options.train = file.path();
    options.dtype.value = type;
    read_all_ways([&](const data::SourceOptions& how) {
      return std::move(data::tokens::open_tokens(options, options.train.names, how).front());
    });
  }
}

}  // namespace trainx::fuzz
