#include "data/tokens/token_file.hpp"
#include "core/error.hpp"
#include "data/tokens/token_reader.hpp"

namespace trainx::data::tokens {
namespace {

constexpr std::int64_t scanned_bytes =
    std::int64_t{1} << 30;  // up to this all files together are looked through when opened

class TokenSource final : public Source {
 public:
  TokenSource(TokenReader tokens, const SourceOptions& how, bool scan)
      : tokens_(std::move(tokens)), length_(how.sequence_length) {
    if (tokens_.count() < length_ + 1) {
      throw UserError(ExitCode::bad_data,
                      "token file " + tokens_.path() + " has " + std::to_string(tokens_.count()) +
                          " tokens, too few for one sample of " + std::to_string(length_) +
                          " and its last target: shorten data.sequence_length or give more data");
    }
    if (scan) {
      for (std::int64_t i = 0; i < tokens_.count(); ++i) tokens_.token(i);
    }
  }

  std::int64_t samples() const override { return (tokens_.count() - 1) / length_; }
  std::int64_t vocab_size() const override { return 0; }
  std::vector<DataFile> files() const override { return {{tokens_.path(), tokens_.bytes()}}; }
  bool read(std::int64_t index, SampleView out) const override {
    if (index < 0 || index >= samples())
      throw InternalError("tokens: sample " + std::to_string(index) + " of " +
                          std::to_string(samples()));
    std::int32_t previous = tokens_.token(index * length_);
    for (std::int64_t i = 0; i < length_; ++i) {
      out.tokens[static_cast<std::size_t>(i)] = previous;
      out.targets[static_cast<std::size_t>(i)] = previous = tokens_.token(index * length_ + i + 1);
    }
    return true;
  }

 private:
  TokenReader tokens_;
  std::int64_t length_;
};

}  // namespace

std::vector<std::unique_ptr<Source>> open_tokens(const options::TokensOptions& options,
                                                 const std::vector<std::string>& paths,
                                                 const SourceOptions& how) {
  std::vector<MappedFile> files;
  for (const std::string& path : paths) files.emplace_back(path);
  return open_tokens(options, std::move(files), how);
}

std::vector<std::unique_ptr<Source>> open_tokens(const options::TokensOptions& options,
                                                 std::vector<MappedFile> files,
                                                 const SourceOptions& how) {
  std::vector<TokenReader> readers;
  std::int64_t bytes = 0;
  for (MappedFile& file : files)
    bytes += readers.emplace_back(std::move(file), options.dtype, how.vocab_limit).bytes();
  const bool scan = how.scan && how.vocab_limit > 0 && bytes <= scanned_bytes;
  std::vector<std::unique_ptr<Source>> sources;
  for (TokenReader& reader : readers)
    sources.push_back(std::make_unique<TokenSource>(std::move(reader), how, scan));
  return sources;
}

}  // namespace trainx::data::tokens
