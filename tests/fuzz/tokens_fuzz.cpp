#include "data/tokens/megatron_index.hpp"
#include "data/tokens/token_file.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/samples.hpp"
#include "fuzz/targets.hpp"

namespace trainx::fuzz {

void fuzz_tokens(Bytes bytes, const Ways& ways) {
  const std::string name = "/nowhere/data.bin";  // no index lies beside it
  ways.each(3 * ways_of_samples, [&](std::size_t i) {
    constexpr std::optional<options::TokenFileType> types[] = {
        std::nullopt, options::TokenFileType::uint16, options::TokenFileType::uint32};
    Choices way(i);
    options::TokensOptions options;
    options.dtype.value = way.of(types);
    read_samples(way, [&](const data::SourceOptions& how) {
      std::vector<data::MappedFile> files;
      files.emplace_back(name, bytes);
      return std::move(data::tokens::open_tokens(options, std::move(files), how).front());
    });
  });
  accepted([&] {
    const auto index = data::tokens::read_megatron_index({"/nowhere/data.idx", bytes});
    require(index.tokens >= 0, "an index counts tokens");
    for (const std::int64_t document : index.documents)
      require(document >= 0 && document <= index.tokens, "documents lie among the tokens");
  });
}

}  // namespace trainx::fuzz
