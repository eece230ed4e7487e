#include "data/tokens/token_file.hpp"
#include "core/error.hpp"
#include "data/mapped_file.hpp"
#include <array>
#include <cstring>
#include <limits>

namespace trainx::data::tokens {
namespace {

constexpr std::int64_t header_bytes = 256 * 4;            // llm.c: 256 int32: magic, version, count, zeros
constexpr std::int64_t scanned_bytes = std::int64_t{1} << 30;  // files up to this are looked through when opened

/// Where the ids of a file lie.
struct Layout { std::int64_t offset = 0, width = 2, count = 0; };

struct Flavour { std::uint32_t magic, version; std::int64_t width; };
constexpr Flavour flavours[] = {{20240520, 1, 2}, {20240801, 7, 4}};

std::array<std::uint32_t, 3> first_words(std::span<const std::byte> bytes) {
  std::array<std::uint32_t, 3> words{};
  std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
  return words;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw UserError(ExitCode::bad_data, "token file " + path + " " + why); }

Layout layout_with_header(const MappedFile& file) {
  const auto size = static_cast<std::int64_t>(file.bytes().size());
  const auto [magic, version, count] = first_words(file.bytes());
  for (const Flavour& f : flavours) {
    if (magic != f.magic) continue;
    if (size < header_bytes) refuse(file.path(), "ends inside its header: " + std::to_string(size) + " bytes of 1024; write it again");
    if (version != f.version) {
      refuse(file.path(), "has version " + std::to_string(version) + " at offset 4, but magic " + std::to_string(magic) + " goes with version " + std::to_string(f.version));
    }
    const std::int64_t expected = header_bytes + f.width * std::int64_t{count};
    if (size < expected) {
      refuse(file.path(), "is truncated: its header promises " + std::to_string(count) + " tokens, " + std::to_string(expected) + " bytes, but it ends at " +
                              std::to_string(size) + "; write it again");
    }
    if (size > expected) {
      refuse(file.path(), "goes on after its end: its header promises " + std::to_string(count) + " tokens, " + std::to_string(expected) + " bytes, but it has " +
                              std::to_string(size) + "; write it again");
    }
    return {header_bytes, f.width, std::int64_t{count}};
  }
  refuse(file.path(), "has no header of a known format (magic " + std::to_string(magic) +
                          " at offset 0, not 20240520 or 20240801): set data.dtype to uint16 or uint32 where it has none");
}

Layout layout_without_header(const MappedFile& file, spec::TokenFileType type) {
  const auto size = static_cast<std::int64_t>(file.bytes().size());
  const std::int64_t width = type == spec::TokenFileType::uint16 ? 2 : 4;
  const auto words = first_words(file.bytes());
  for (const Flavour& f : flavours) {
    if (words[0] == f.magic && words[1] == f.version) refuse(file.path(), "has a header of llm.c, which data.dtype would read as tokens: leave data.dtype out");
  }
  if (size % width != 0) refuse(file.path(), "is truncated: " + std::to_string(size) + " bytes are no whole number of " + std::to_string(width) + "-byte tokens");
  return {0, width, size / width};
}

class TokenSource final : public Source {
 public:
  TokenSource(MappedFile file, Layout layout, const SourceOptions& how) : file_(std::move(file)), layout_(layout), length_(how.sequence_length), limit_(how.vocab_limit) {
    if (layout.count < length_ + 1) {
      refuse(file_.path(), "has " + std::to_string(layout.count) + " tokens, too few for one sample of " + std::to_string(length_) +
                               " and its last target: shorten data.sequence_length or give more data");
    }
    if (how.scan && limit_ > 0 && layout.width * layout.count <= scanned_bytes) {
      for (std::int64_t i = 0; i < layout.count; ++i) token(i);
    }
  }

  std::int64_t samples() const override { return (layout_.count - 1) / length_; }
  std::int64_t vocab_size() const override { return 0; }
  bool read(std::int64_t index, SampleView out) const override {
    if (index < 0 || index >= samples()) throw InternalError("tokens: sample " + std::to_string(index) + " of " + std::to_string(samples()));
    std::int32_t previous = token(index * length_);
    for (std::int64_t i = 0; i < length_; ++i) {
      out.tokens[static_cast<std::size_t>(i)] = previous;
      out.targets[static_cast<std::size_t>(i)] = previous = token(index * length_ + i + 1);
    }
    return true;
  }

 private:
  std::int32_t token(std::int64_t i) const {
    const std::int64_t at = layout_.offset + i * layout_.width;
    std::uint32_t id = 0;
    std::memcpy(&id, file_.bytes().data() + at, static_cast<std::size_t>(layout_.width));   // little-endian, as the host
    const std::int64_t limit = limit_ > 0 ? limit_ : std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
    if (id >= limit) {
      refuse(file_.path(), "has token id " + std::to_string(id) + " at byte " + std::to_string(at) + ", beyond the vocabulary of " + std::to_string(limit) +
                               ": correct the file or model.options.vocab_size");
    }
    return static_cast<std::int32_t>(id);
  }

  MappedFile file_;
  Layout layout_;
  std::int64_t length_, limit_;
};

}  // namespace

std::unique_ptr<Source> open_tokens(const spec::TokensOptions& options, Split split, const SourceOptions& how) {
  if (split == Split::eval && !options.eval) return nullptr;
  MappedFile file(split == Split::train ? options.train : *options.eval);
  if (file.bytes().empty()) refuse(file.path(), "is empty");
  const Layout layout = options.dtype.is_auto() ? layout_with_header(file) : layout_without_header(file, *options.dtype.value);
  return std::make_unique<TokenSource>(std::move(file), layout, how);
}

}  // namespace trainx::data::tokens
