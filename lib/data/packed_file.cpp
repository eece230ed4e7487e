#include "data/packed_file.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

namespace trainx::data {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

constexpr std::string_view endings[] = {".gz", ".gzip", ".zst", ".zstd"};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A nameless file that what is unpacked goes into.
class Unpacked {
 public:
  explicit Unpacked(const std::string& packed) : packed_(packed) {
    folder_ = environment_variable("TMPDIR");
    if (folder_.empty()) folder_ = "/var/tmp";
    std::string name = folder_ + "/trainx-unpacked-XXXXXX";
    file_ = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (!file_.is_open()) fail();
    ::unlink(name.c_str());
  }
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno != EINTR) fail();
      bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
  }
  const Descriptor& file() const { return file_; }

 private:
  [[noreturn]] void fail() const {
    throw UserError(ExitCode::io_error, packed_ + " cannot be unpacked into " + folder_ + ": " +
                                            errno_words(errno) +
                                            "; set TMPDIR to a folder with more room, or unpack "
                                            "the file");
  }

  const std::string& packed_;
  std::string folder_;
  Descriptor file_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::bad_data, path + " " + what + ": fetch it again");
}

/// Members one behind the other, as gzip reads them; zeros may follow the last.
void unpack_gzip(std::span<const std::byte> packed, const std::string& path, Unpacked& out) {
  struct Stream {
    z_stream z{};
    ~Stream() { ::inflateEnd(&z); }
  } stream;
  constexpr int window_of_gzip = 15 + 16;
  if (::inflateInit2(&stream.z, window_of_gzip) != Z_OK) throw std::bad_alloc();
  std::vector<std::byte> piece(piece_bytes);
  bool ended = false;
  while (!packed.empty()) {
    if (ended) {
      if (packing_of(packed) != Packing::gzip) {
        if (std::ranges::all_of(packed, [](std::byte b) { return b == std::byte{0}; })) return;
        refuse(path, "is a gzip archive with other bytes behind its end");
      }
      ::inflateReset(&stream.z);
      ended = false;
    }
    const std::size_t given =
        std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max() / 2);
    stream.z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.z.avail_in = static_cast<uInt>(given);
    stream.z.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.z.avail_out = static_cast<uInt>(piece.size());
    const int status = ::inflate(&stream.z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      refuse(path, "is a damaged gzip archive");
    out.write(std::span(piece).first(piece.size() - stream.z.avail_out));
    packed = packed.subspan(given - stream.z.avail_in);
    ended = status == Z_STREAM_END;
    // nothing was read and nothing came out
    if (status == Z_BUF_ERROR) break;
  }
  // what is left inside once all is read
  while (!ended) {
    stream.z.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.z.avail_out = static_cast<uInt>(piece.size());
    stream.z.avail_in = 0;
    const int status = ::inflate(&stream.z, Z_NO_FLUSH);
    const std::size_t made = piece.size() - stream.z.avail_out;
    out.write(std::span(piece).first(made));
    ended = status == Z_STREAM_END;
    if (!ended && made == 0) refuse(path, "is a gzip archive that is cut off");
  }
}

void unpack_zstd(std::span<const std::byte> packed, const std::string& path, Unpacked& out) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  // as `zstd --long=31` packs
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, 31);
  std::vector<std::byte> piece(std::max(piece_bytes, ZSTD_DStreamOutSize()));
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t left = 1;  // 0: a frame has ended
  for (bool more = true; more;) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(context.get(), &to, &in);
    if (ZSTD_isError(left))
      refuse(path, std::string("is a damaged zstd archive (") + ZSTD_getErrorName(left) + ")");
    out.write(std::span(piece).first(to.pos));
    more = in.pos < in.size || to.pos == to.size;
    if (left == 0 && in.pos == in.size) more = false;
  }
  if (left != 0) refuse(path, "is a zstd archive that is cut off");
}

}  // namespace

Packing packing_of(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  if (text.starts_with("\x1f\x8b\x08")) return Packing::gzip;
  const bool skippable = text.size() >= 4 && (text[0] & 0xf0) == 0x50 &&
                         text.substr(1).starts_with("\x2a\x4d\x18");
  if (skippable || text.starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
  return Packing::none;
}

std::string without_packing(const std::string& path) {
  for (const std::string_view ending : endings)
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  return path;
}

MappedFile open_unpacked(const std::string& path) {
  MappedFile file(path);
  const Packing packing = packing_of(file.bytes());
  if (packing == Packing::none) return file;
  Unpacked out(path);
  packing == Packing::gzip ? unpack_gzip(file.bytes(), path, out)
                           : unpack_zstd(file.bytes(), path, out);
  return MappedFile(path, MappedRegion(out.file(), path));
}

}  // namespace trainx::data
