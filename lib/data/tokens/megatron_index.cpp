#include "data/tokens/megatron_index.hpp"
#include "core/error.hpp"
#include <cstring>
#include <string_view>

namespace trainx::data::tokens {
namespace {

constexpr std::string_view megatron_magic{"MMIDIDX\0\0", 9};

/// Little-endian numbers out of a file, one after another.
class Cursor {
 public:
  explicit Cursor(const MappedFile& file) : file_(file) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(ExitCode::bad_data, "index " + file_.path() + " " + why);
  }
  std::string_view bytes(std::size_t count) {
    if (count > file_.bytes().size() - at_)
      refuse("is truncated at byte " + std::to_string(file_.bytes().size()) + ": copy it again");
    const std::string_view out(reinterpret_cast<const char*>(file_.bytes().data()) + at_, count);
    at_ += count;
    return out;
  }
  template <class Number>
  Number number() {
    Number n;
    std::memcpy(&n, bytes(sizeof n).data(), sizeof n);
    return n;
  }
  /// `count` numbers of `width` bytes lie ahead.
  void require(std::uint64_t count, std::uint64_t width) const {
    if (count > (file_.bytes().size() - at_) / width)
      refuse("promises " + std::to_string(count) + " entries, more than it has: copy it again");
  }
  bool at_end() const { return at_ == file_.bytes().size(); }

 private:
  const MappedFile& file_;
  std::size_t at_ = 0;
};

std::int64_t width_of(int code, const Cursor& cursor) {
  switch (code) {
    case 1: return 1;  // uint8
    case 4: return 4;  // int32
    case 5: return 8;  // int64
    case 8: return 2;  // uint16
    default:
      cursor.refuse("has tokens of type " + std::to_string(code) +
                    ", not uint8, uint16, int32 or int64");
  }
}

}  // namespace

std::string index_path(const std::string& token_path) {
  constexpr std::string_view ending = ".bin";
  return (token_path.ends_with(ending) ? token_path.substr(0, token_path.size() - ending.size())
                                       : token_path) +
         ".idx";
}

MegatronIndex read_megatron_index(const MappedFile& file) {
  Cursor cursor(file);
  if (cursor.bytes(megatron_magic.size()) != megatron_magic)
    cursor.refuse("is none of Megatron-LM: it does not begin with MMIDIDX");
  if (const auto version = cursor.number<std::uint64_t>(); version != 1)
    cursor.refuse("has version " + std::to_string(version) + ", not 1");
  MegatronIndex out;
  out.width = width_of(cursor.number<std::uint8_t>(), cursor);
  const auto sequences = cursor.number<std::uint64_t>(), documents = cursor.number<std::uint64_t>();
  cursor.require(sequences, sizeof(std::int32_t));
  std::vector<std::int64_t> starts{0};
  for (std::uint64_t i = 0; i < sequences; ++i) {
    const auto length = cursor.number<std::int32_t>();
    if (length < 0)
      cursor.refuse("gives sequence " + std::to_string(i) + " " + std::to_string(length) +
                    " tokens");
    starts.push_back(starts.back() + length);
  }
  cursor.require(sequences, sizeof(std::int64_t));
  for (std::uint64_t i = 0; i < sequences; ++i)
    if (cursor.number<std::int64_t>() != starts[i] * out.width)
      cursor.refuse("has sequences that do not follow one another in the token file (sequence " +
                    std::to_string(i) + "), which trainx does not support");
  cursor.require(documents, sizeof(std::int64_t));
  for (std::uint64_t i = 0; i < documents; ++i) {
    const auto sequence = cursor.number<std::int64_t>();
    if (sequence < 0 || static_cast<std::uint64_t>(sequence) > sequences)
      cursor.refuse("begins document " + std::to_string(i) + " with sequence " +
                    std::to_string(sequence) + " of " + std::to_string(sequences));
    if (static_cast<std::uint64_t>(sequence) < sequences)
      out.documents.push_back(starts[static_cast<std::size_t>(sequence)]);
  }
  out.tokens = starts.back();
  return out;
}

}  // namespace trainx::data::tokens
