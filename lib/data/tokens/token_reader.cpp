#include "data/tokens/token_reader.hpp"
#include "core/error.hpp"
#include "data/foreign_file.hpp"
#include "data/tokens/megatron_index.hpp"
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>

namespace trainx::data::tokens {
namespace {

// llm.c: 256 int32: magic, version, count, zeros
constexpr std::int64_t header_bytes = 256 * 4;

struct Flavour {
  std::uint32_t magic, version;
  std::int64_t width;
};
constexpr Flavour flavours[] = {{20240520, 1, 2}, {20240801, 7, 4}};

std::array<std::uint32_t, 3> first_words(std::span<const std::byte> bytes) {
  std::array<std::uint32_t, 3> words{};
  std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
  return words;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UserError(ExitCode::bad_data, "token file " + path + " " + why);
}

/// Ids of two bytes that are all printable are none that a tokenizer made: this is text.
void refuse_text(const MappedFile& file) {
  constexpr std::size_t fewest = 64, looked_at = 4096;
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              std::min(file.bytes().size(), looked_at));
  const bool printable = std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\r' || byte == '\t';
  });
  if (text.size() < fewest || !printable) return;
  const bool has_ids = text.starts_with('{') &&
                       text.find("\"input_ids\"") != std::string_view::npos;
  refuse(file.path(), has_ids ? "holds lines of token ids: read them with data.type: jsonl"
                              : "is text, not tokens: make them with `trainx data tokenize " +
                                    file.path() +
                                    " --tokenizer FOLDER --out OUT.bin`, or train on "
                                    "its bytes with data.type: text");
}

TokenLayout layout_with_header(const MappedFile& file) {
  const auto size = static_cast<std::int64_t>(file.bytes().size());
  const auto [magic, version, count] = first_words(file.bytes());
  for (const Flavour& f : flavours) {
    if (magic != f.magic) continue;
    if (size < header_bytes)
      refuse(file.path(),
             "ends inside its header: " + std::to_string(size) + " bytes of 1024; write it again");
    if (version != f.version) {
      refuse(file.path(), "has version " + std::to_string(version) + " at offset 4, but magic " +
                              std::to_string(magic) + " goes with version " +
                              std::to_string(f.version));
    }
    const std::int64_t expected = header_bytes + f.width * std::int64_t{count};
    if (size < expected) {
      refuse(file.path(), "is truncated: its header promises " + std::to_string(count) +
                              " tokens, " + std::to_string(expected) + " bytes, but it ends at " +
                              std::to_string(size) + "; write it again");
    }
    if (size > expected) {
      refuse(file.path(), "goes on after its end: its header promises " + std::to_string(count) +
                              " tokens, " + std::to_string(expected) + " bytes, but it has " +
                              std::to_string(size) + "; write it again");
    }
    return {header_bytes, f.width, std::int64_t{count}};
  }
  refuse_foreign(file);
  refuse_text(file);
  refuse(file.path(), "has no header of a known format (magic " + std::to_string(magic) +
                          " at offset 0, not 20240520 or 20240801): set data.dtype to uint16 or "
                          "uint32 where it has none");
}

TokenLayout layout_without_header(const MappedFile& file, options::TokenFileType type) {
  const auto size = static_cast<std::int64_t>(file.bytes().size());
  const std::int64_t width = type == options::TokenFileType::uint16 ? 2 : 4;
  const auto words = first_words(file.bytes());
  if (const auto found = foreign_format(file.bytes(), file.path());
      found && found->name == "a NumPy array")
    refuse_foreign(file);
  refuse_text(file);
  for (const Flavour& f : flavours) {
    if (words[0] == f.magic && words[1] == f.version)
      refuse(file.path(),
             "has a header of llm.c, which data.dtype would read as tokens: leave data.dtype out");
  }
  if (size % width != 0)
    refuse(file.path(), "is truncated: " + std::to_string(size) + " bytes are no whole number of " +
                            std::to_string(width) + "-byte tokens");
  return {0, width, size / width};
}

TokenLayout layout_of_megatron(const MappedFile& file, const MegatronIndex& index) {
  const auto size = static_cast<std::int64_t>(file.bytes().size());
  if (size != index.tokens * index.width) {
    refuse(file.path(), "has " + std::to_string(size) + " bytes, but its index " +
                            index_path(file.path()) + " promises " + std::to_string(index.tokens) +
                            " tokens of " + std::to_string(index.width) +
                            ": they do not belong together");
  }
  return {0, index.width, index.tokens, index.documents};
}

bool has_known_magic(const MappedFile& file) {
  const auto words = first_words(file.bytes());
  return std::ranges::any_of(flavours, [&](const Flavour& f) { return words[0] == f.magic; });
}

TokenLayout layout_of(const MappedFile& file, const options::Auto<options::TokenFileType>& type) {
  if (!type.is_auto()) return layout_without_header(file, *type.value);
  if (!has_known_magic(file) && std::filesystem::is_regular_file(index_path(file.path())))
    return layout_of_megatron(file, read_megatron_index(MappedFile(index_path(file.path()))));
  return layout_with_header(file);
}

}  // namespace

TokenReader::TokenReader(MappedFile file, const options::Auto<options::TokenFileType>& type,
                         std::int64_t limit)
    : file_(std::move(file)), limit_(limit) {
  if (file_.bytes().empty()) refuse(file_.path(), "is empty");
  layout_ = layout_of(file_, type);
}

std::int32_t TokenReader::token(std::int64_t i) const {
  const std::int64_t at = layout_.offset + i * layout_.width;
  std::uint64_t id = 0;
  // little-endian, as the host
  std::memcpy(&id, file_.bytes().data() + at, static_cast<std::size_t>(layout_.width));
  const std::int64_t limit =
      limit_ > 0 ? limit_ : std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  if (id >= static_cast<std::uint64_t>(limit)) {
    refuse(file_.path(), "has token id " + std::to_string(id) + " at byte " + std::to_string(at) +
                             ", beyond the vocabulary of " + std::to_string(limit) +
                             ": correct the file or model.options.vocab_size");
  }
  return static_cast<std::int32_t>(id);
}

}  // namespace trainx::data::tokens
