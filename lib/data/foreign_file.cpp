#include "data/foreign_file.hpp"
#include "core/error.hpp"
#include <cstdint>
#include <string_view>

namespace trainx::data {
namespace {

using namespace std::string_view_literals;

enum class Remedy : std::uint8_t { table, unpack, text, lines, array, encoding, pointer };

struct Signature {
  std::string_view bytes, name;
  Remedy remedy;
  std::string_view tool;
  std::size_t place = 0;  // of the bytes in the file
};
// Each is long enough, or no UTF-8, so that no text begins with it by chance.
constexpr Signature signatures[] = {
    {"PAR1", "a Parquet file", Remedy::table, ""},
    {"ARROW1\0\0"sv, "an Arrow file", Remedy::table, ""},
    {"\x1f\x8b\x08", "a gzip archive", Remedy::unpack, "gunzip -k"},
    {"PK\x03\x04", "a zip archive", Remedy::unpack, "unzip"},
    {"\x28\xb5\x2f\xfd", "a zstd archive", Remedy::unpack, "unzstd"},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz archive", Remedy::unpack, "unxz -k"},
    {"BZh91AY&SY", "a bzip2 archive", Remedy::unpack, "bunzip2 -k"},
    {"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", Remedy::unpack, "7z x"},
    {"Rar!\x1a\x07", "a RAR archive", Remedy::unpack, "unrar x"},
    {"\x04\x22\x4d\x18", "an lz4 archive", Remedy::unpack, "unlz4 -k"},
    {"ustar", "a tar archive", Remedy::unpack, "tar xf", 257},
    {"%PDF-", "a PDF", Remedy::text, "pdftotext"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file", Remedy::lines, "h5py"},
    {"SQLite format 3\0"sv, "an SQLite database", Remedy::lines, "sqlite3 -json"},
    {"Obj\x01", "an Avro file", Remedy::lines, "fastavro"},
    {"\x80\x04\x95", "a pickle of Python", Remedy::lines, "pandas"},
    {"\x80\x05\x95", "a pickle of Python", Remedy::lines, "pandas"},
    {"\x93NUMPY", "a NumPy array", Remedy::array, ""},
    {"version https://git-lfs.github.com/spec/", "a git-lfs pointer", Remedy::pointer, ""},
    {"\xff\xfe\0\0"sv, "text in UTF-32", Remedy::encoding, "UTF-32"},
    {"\0\0\xfe\xff"sv, "text in UTF-32", Remedy::encoding, "UTF-32"},
    {"\xff\xfe", "text in UTF-16", Remedy::encoding, "UTF-16"},
    {"\xfe\xff", "text in UTF-16", Remedy::encoding, "UTF-16"},
};

/// UTF-16 without a mark, by the zeros of its ASCII characters; empty: it is none.
std::string_view wide_encoding(std::string_view text) {
  constexpr std::size_t looked_at = 8;
  if (text.size() < looked_at) return "";
  bool even = true, odd = true;  // zeros there and nowhere else
  for (std::size_t i = 0; i < looked_at; ++i) {
    const bool printable = text[i] >= ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t';
    const bool at_even = i % 2 == 0;
    even = even && (at_even ? text[i] == '\0' : printable);
    odd = odd && (at_even ? printable : text[i] == '\0');
  }
  return odd ? "UTF-16LE" : even ? "UTF-16BE" : "";
}

std::string remedy_of(const Signature& s, const std::string& path) {
  const std::string tool(s.tool);
  switch (s.remedy) {
    case Remedy::table:
      return "make lines of tokens of it: trainx data tokenize " + path +
             " --tokenizer FOLDER --out OUT.jsonl";
    case Remedy::unpack: return "unpack it first: " + tool + " " + path;
    case Remedy::text: return "convert it to text: " + tool + " " + path;
    case Remedy::lines: return "write its rows as JSON lines (" + tool + " reads it)";
    case Remedy::array:
      return "write its numbers without a header (numpy's tofile) and name their data.dtype";
    case Remedy::encoding: return "convert it: iconv -f " + tool + " -t UTF-8 " + path + " > OUT";
    case Remedy::pointer: return "fetch the file itself with git lfs pull, or download it";
  }
  return "";
}

}  // namespace

std::optional<ForeignFormat> foreign_format(std::span<const std::byte> bytes,
                                            const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& s : signatures) {
    if (text.size() < s.place || !text.substr(s.place).starts_with(s.bytes)) continue;
    if (s.bytes == "PAR1" && (text.size() < 12 || !text.ends_with(s.bytes)))
      continue;  // a Parquet file also ends with it
    return ForeignFormat{std::string(s.name), remedy_of(s, path)};
  }
  if (const auto encoding = wide_encoding(text); !encoding.empty())
    return ForeignFormat{"text in UTF-16", "convert it: iconv -f " + std::string(encoding) +
                                               " -t UTF-8 " + path + " > OUT"};
  // Arrow's streams, which Hugging Face datasets keeps, begin with a marker that token files may
  // begin with too.
  if (path.ends_with(".arrow") && text.starts_with("\xff\xff\xff\xff"))
    return ForeignFormat{"an Arrow file", remedy_of(signatures[1], path)};
  return std::nullopt;
}

void refuse_foreign(const MappedFile& file) {
  if (const auto found = foreign_format(file.bytes(), file.path()))
    throw UserError(ExitCode::bad_data, file.path() + " is " + found->name +
                                            ", which trainx does not read here: " + found->remedy);
}

}  // namespace trainx::data
