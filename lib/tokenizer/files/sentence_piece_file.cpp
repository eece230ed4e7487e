#include "tokenizer/files/sentence_piece_file.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <algorithm>
#include <bit>
#include <string_view>

namespace trainx::tokenizer {
namespace {

/// Fields of a message of protocol buffers, one behind the other.
class ProtoReader {
 public:
  ProtoReader(std::string_view message, const std::string& path) : bytes_(message), path_(path) {}

  /// False at the end; afterwards `field` is the number, `value` a number or `bytes` its contents.
  bool next() {
    if (at_ == bytes_.size()) return false;
    const std::uint64_t tag = varint();
    field = static_cast<std::int32_t>(tag >> 3);
    value = 0;
    bytes = {};
    switch (tag & 7) {
      case 0: value = varint(); break;
      case 1: value = fixed(8); break;
      case 2: bytes = take(varint()); break;
      case 5: value = fixed(4); break;
      default: refuse();
    }
    return true;
  }
  [[noreturn]] void refuse() const {
    throw UserError(ExitCode::bad_data,
                    path_ + " is no SentencePiece model: take the file again from where it came");
  }

  std::int32_t field = 0;
  std::uint64_t value = 0;
  std::string_view bytes;

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) refuse();
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  std::uint64_t fixed(std::size_t count) {
    std::uint64_t number = 0;
    const std::string_view taken = take(count);
    for (std::size_t i = 0; i < count; ++i)
      number |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    return number;
  }
  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    refuse();
  }

  std::string_view bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

std::string text_of(const ProtoReader& in) {
  std::string text(in.bytes);
  if (!is_utf8(text)) in.refuse();
  return text;
}

SentencePieceFile::Piece read_piece(std::string_view bytes, const std::string& path) {
  SentencePieceFile::Piece piece;
  for (ProtoReader in(bytes, path); in.next();) {
    if (in.field == 1) piece.text = text_of(in);
    if (in.field == 2) piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(in.value));
    if (in.field == 3) piece.type = static_cast<std::int32_t>(in.value);
  }
  return piece;
}

void read_trainer(std::string_view bytes, const std::string& path, SentencePieceFile& file) {
  for (ProtoReader in(bytes, path); in.next();) {
    const auto number = static_cast<std::int32_t>(in.value);
    switch (in.field) {
      case 3: file.model_type = number; break;
      case 35: file.byte_fallback = in.value != 0; break;
      case 40: file.unk_id = number; break;
      case 41: file.bos_id = number; break;
      case 42: file.eos_id = number; break;
      case 45: file.unk_piece = text_of(in); break;
      case 46: file.bos_piece = text_of(in); break;
      case 47: file.eos_piece = text_of(in); break;
      default: break;
    }
  }
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      out.push_back(i <= count ? digits[group >> (18 - 6 * i) & 63] : '=');
  }
  return out;
}

}  // namespace

SentencePieceFile read_sentence_piece_file(const std::string& path) {
  const std::string bytes = read_file(path, std::int64_t{256} << 20);
  SentencePieceFile file;
  ProtoReader in(bytes, path);
  while (in.next()) {
    if (in.field == 1) file.pieces.push_back(read_piece(in.bytes, path));
    if (in.field == 2) read_trainer(in.bytes, path, file);
    if (in.field != 3) continue;
    for (ProtoReader normalizer(in.bytes, path); normalizer.next();)
      if (normalizer.field == 2) file.charsmap = base64(normalizer.bytes);
  }
  if (file.pieces.empty()) in.refuse();
  return file;
}

}  // namespace trainx::tokenizer
