#include "data/packed_file.hpp"
#include "data/source.hpp"
#include "expect_user_error.hpp"
#include "sample.hpp"
#include "scratch_folder.hpp"
#include <zlib.h>
#include <zstd.h>
#include <random>

namespace trainx::data::packed_file_test {
namespace {

std::string gzip(const std::string& text) {
  z_stream z{};
  REQUIRE(::deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(::deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - z.avail_out);
  ::deflateEnd(&z);
  return out;
}

std::string zstd(const std::string& text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the program zstd does
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string unpacked(const std::string& path) {
  const MappedFile file = open_unpacked(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

TEST_CASE("what gzip or zstd packed is read as what is inside, in one piece or in several") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const ScratchFolder folder;
  std::string large;
  while (large.size() < (3 << 20)) large += std::to_string(random());
  for (const std::string& text : {std::string("a\nb\n"), std::string(), large})
    for (const auto& [pack, ending] : {std::pair{&gzip, ".gz"}, std::pair{&zstd, ".zst"}}) {
      const std::string path = folder.write(std::string("a.txt") + ending, pack(text));
      CHECK(unpacked(path) == text);
      CHECK(open_unpacked(path).is_unpacked());
      CHECK(unpacked(folder.write("two", pack(text) + pack("more"))) == text + "more");
    }
  CHECK(unpacked(folder.write("zeros.gz", gzip("a") + std::string(512, '\0'))) == "a");
  CHECK(unpacked(folder.write("plain", "text")) == "text");
  CHECK_FALSE(open_unpacked(folder.path("plain")).is_unpacked());
  CHECK(without_packing("a/b.jsonl.gz") == "a/b.jsonl");
  CHECK(without_packing("a/b.jsonl.zst") == "a/b.jsonl");
  CHECK(without_packing("a/b.jsonl") == "a/b.jsonl");
}

TEST_CASE("archives that are damaged, cut off or followed by something else are refused") {
  const ScratchFolder folder;
  std::mt19937 random(5);  // of text that repeats itself a changed bit may tell the same
  std::string text(100'000, 'x');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  for (const auto& [packed, name] :
       {std::pair{gzip(text), "gzip"}, std::pair{zstd(text), "zstd"}}) {
    const auto refused = [&](const std::string& bytes) {
      const std::string path = folder.write("bad", bytes);
      expect_user_error(ExitCode::bad_data, {path, name}, [&] { open_unpacked(path); });
    };
    for (const std::size_t size : {std::size_t{5}, packed.size() / 2, packed.size() - 1})
      refused(packed.substr(0, size));
    refused(packed + "and text");
    refused(packed + std::string("x\0y", 3));
    std::string changed = packed;
    changed[packed.size() / 2] = static_cast<char>(changed[packed.size() / 2] ^ 0x40);
    refused(changed);
  }
}

TEST_CASE("text, JSON lines and csv are trained on as they are packed") {
  const ScratchFolder folder;
  SourceOptions how{2};
  how.targets = Targets::label;
  const std::string lines = "{\"input_ids\": [5], \"label\": 1}\n";
  CHECK(read_sample(*open_source(options::JsonlOptions{folder.write("a.jsonl.gz", gzip(lines)),
                                                       std::nullopt, false},
                                 Split::train, how),
                    0, 2)
            .label == Ids{1});
  CHECK(read_sample(*open_source(options::CsvOptions{folder.write("a.tsv.zst",
                                                                  zstd("input_ids\tlabel\n5\t2\n")),
                                                     std::nullopt,
                                                     false,
                                                     {}},
                                 Split::train, how),
                    0, 2)
            .label == Ids{2});
  const auto text = open_source(
      options::TextOptions{folder.write("a.txt.gz", gzip("abc")), std::nullopt, std::nullopt},
      Split::train, {2});
  CHECK(read_sample(*text, 0, 2).tokens == Ids{'a', 'b'});
}

}  // namespace trainx::data::packed_file_test
