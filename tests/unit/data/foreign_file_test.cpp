#include "data/foreign_file.hpp"
#include "data/source.hpp"
#include "expect_user_error.hpp"
#include "scratch_folder.hpp"

namespace trainx::data::foreign_file_test {

TEST_CASE("files of other formats are named, in every kind of source") {
  const ScratchFolder folder;
  const std::vector<std::pair<std::string, std::string>> files{
      {"Parquet", std::string("PAR1\x15\x04\0\0\0\0", 10) + "PAR1"},
      {"Arrow", std::string("ARROW1\0\0....", 12)},
      {"gzip", "\x1f\x8b\x08...."},
      {"zip", "PK\x03\x04...."},
      {"zstd", "\x28\xb5\x2f\xfd...."},
      {"PDF", "%PDF-1.7\n%\xe2\xe3"},
      {"bzip2", "BZh91AY&SY.."},
      {"NumPy", "\x93NUMPY\x01"},
      {"tar", "a.jsonl" + std::string(250, '\0') + "ustar\0" + std::string(200, '\0')},
      {"7-Zip", "7z\xbc\xaf\x27\x1c...."},
      {"RAR", "Rar!\x1a\x07\x01...."},
      {"lz4", "\x04\x22\x4d\x18...."},
      {"HDF5", "\x89HDF\r\n\x1a\n...."},
      {"SQLite", std::string("SQLite format 3\0....", 20)},
      {"Avro", "Obj\x01...."},
      {"pickle", "\x80\x04\x95...."},
      {"git-lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"},
      {"UTF-16", std::string("\xff\xfe{\0\"\0", 6)},
      {"UTF-16", std::string("\xfe\xff\0{\0\"", 6)},
      {"UTF-16", std::string("{\0\"\0a\0\"\0:\0", 10)}};
  for (const auto& [name, bytes] : files) {
    const std::string path = folder.write("file", bytes);
    INFO(name);
    const SourceOptions how{4};
    expect_user_error(ExitCode::bad_data, {path, name}, [&] {
      open_source(options::TextOptions{path, std::nullopt, std::nullopt}, Split::train, how);
    });
    expect_user_error(ExitCode::bad_data, {path, name}, [&] {
      open_source(options::TokensOptions{.train = path}, Split::train, how);
    });
    expect_user_error(ExitCode::bad_data, {path, name}, [&] {
      open_source(options::JsonlOptions{.train = path}, Split::train, how);
    });
    expect_user_error(ExitCode::bad_data, {path, name},
                      [&] { open_source(options::CsvOptions{.train = path}, Split::train, how); });
  }
}

TEST_CASE("text and headerless tokens that begin like other formats are left alone") {
  const ScratchFolder folder;
  for (const std::string& text :
       {std::string("PAR1 is a word of four"), std::string("BZh9 is no archive"),
        std::string("PK and others"), std::string("ARROW1 points there")})
    CHECK(open_source(options::TextOptions{folder.write("a.txt", text), std::nullopt, std::nullopt},
                      Split::train, {4})
              ->samples() > 0);
  const std::string tokens = folder.write("a.bin", "\x1f\x8b\x08 as tokens, twelve of them at all");
  CHECK(open_source(
            options::TokensOptions{.train = tokens, .dtype = {options::TokenFileType::uint16}},
            Split::train, {4})
            ->samples() > 0);
  // Files of tokens that are text are told, even where data.dtype would read them.
  for (const std::string& text :
       {std::string(80, 'a'), "{\"input_ids\": [1, 2, 3]}\n" + std::string(60, ' ')})
    for (const auto& dtype :
         {options::Auto<options::TokenFileType>{},
          options::Auto<options::TokenFileType>{options::TokenFileType::uint16}})
      expect_user_error(
          ExitCode::bad_data, {"t.bin", text[0] == 'a' ? "data tokenize" : "jsonl"}, [&] {
            open_source(
                options::TokensOptions{.train = folder.write("t.bin", text), .dtype = dtype},
                Split::train, {4});
          });
  // The stream format of Arrow is told by the file's name as well.
  CHECK(foreign_format(std::as_bytes(std::span("\xff\xff\xff\xff.")), "a.arrow"));
  CHECK_FALSE(foreign_format(std::as_bytes(std::span("\xff\xff\xff\xff.")), "a.bin"));
}

}  // namespace trainx::data::foreign_file_test
