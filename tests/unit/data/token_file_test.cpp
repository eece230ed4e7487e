#include "data/source.hpp"
#include "expect_user_error.hpp"
#include "scratch_folder.hpp"
#include <array>
#include <cstring>
#include <numeric>

namespace trainx::data::token_file_test {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::vector<std::int32_t> words(256);
  words[0] = magic;
  words[1] = version;
  words[2] = count;
  return bytes_of(words);
}

template <class T>
std::vector<T> counting(std::size_t n) {
  std::vector<T> ids(n);
  std::iota(ids.begin(), ids.end(), T{0});
  return ids;
}

std::unique_ptr<Source> open(const std::string& path, SourceOptions how,
                             options::Auto<options::TokenFileType> dtype = {}) {
  return open_source(options::TokensOptions{path, std::nullopt, dtype}, Split::train, how);
}

struct Sample {
  std::vector<std::int32_t> tokens, targets;
};
Sample read(const Source& source, std::int64_t index, std::size_t length) {
  Sample s{std::vector<std::int32_t>(length), std::vector<std::int32_t>(length)};
  source.read(index, {s.tokens, s.targets});
  return s;
}

const options::Auto<options::TokenFileType> uint16{options::TokenFileType::uint16},
    uint32{options::TokenFileType::uint32};

}  // namespace

TEST_CASE("sample i of a token file is tokens[i*T : i*T+T+1], in every format") {
  const ScratchFolder folder;
  const auto narrow = counting<std::uint16_t>(13);
  const auto wide = counting<std::uint32_t>(13);
  const std::vector<std::unique_ptr<Source>> sources = [&] {
    std::vector<std::unique_ptr<Source>> all;
    all.push_back(open(folder.write("a.bin", header(20240520, 1, 13) + bytes_of(narrow)), {4}));
    all.push_back(open(folder.write("b.bin", header(20240801, 7, 13) + bytes_of(wide)), {4}));
    all.push_back(open(folder.write("c.bin", bytes_of(narrow)), {4}, uint16));
    all.push_back(open(folder.write("d.bin", bytes_of(wide)), {4}, uint32));
    return all;
  }();
  for (const auto& source : sources) {
    REQUIRE(source->samples() == 3);  // the 13th token is the last one's target
    CHECK(source->vocab_size() == 0);
    CHECK(read(*source, 0, 4).tokens == std::vector<std::int32_t>{0, 1, 2, 3});
    CHECK(read(*source, 0, 4).targets == std::vector<std::int32_t>{1, 2, 3, 4});
    CHECK(read(*source, 2, 4).tokens == std::vector<std::int32_t>{8, 9, 10, 11});
    CHECK(read(*source, 2, 4).targets == std::vector<std::int32_t>{9, 10, 11, 12});
    std::vector<std::int32_t> out(4);
    CHECK_THROWS_AS(source->read(3, {out, out}), InternalError);
  }
}

TEST_CASE("one token less is one sample less") {
  const ScratchFolder folder;
  CHECK(
      open(folder.write("a.bin", bytes_of(counting<std::uint16_t>(12))), {4}, uint16)->samples() ==
      2);
  CHECK(open(folder.write("b.bin", bytes_of(counting<std::uint16_t>(5))), {4}, uint16)->samples() ==
        1);
}

TEST_CASE("large ids survive") {
  const ScratchFolder folder;
  const auto narrow =
      open(folder.write("a.bin", header(20240520, 1, 2) + bytes_of<std::uint16_t>({65535, 40000})),
           {1, 65536});
  CHECK(read(*narrow, 0, 1).tokens[0] == 65535);
  CHECK(read(*narrow, 0, 1).targets[0] == 40000);
  const auto wide =
      open(folder.write("b.bin",
                        header(20240801, 7, 2) + bytes_of<std::uint32_t>({200'000, 2'147'483'647})),
           {1});
  CHECK(read(*wide, 0, 1).targets[0] == 2'147'483'647);
  expect_user_error(ExitCode::bad_data, {"2147483648", "byte 4"}, [&] {
    read(*open(folder.write("c.bin", bytes_of<std::uint32_t>({1, 2'147'483'648})), {1}, uint32), 0,
         1);
  });
}

TEST_CASE(
    "a token id beyond the vocabulary is named with file and byte, at opening or, unscanned, at "
    "reading") {
  const ScratchFolder folder;
  const std::string path = folder.write(
      "train.bin", header(20240520, 1, 9) + bytes_of<std::uint16_t>({1, 2, 3, 4, 5, 6, 7, 50, 9}));
  expect_user_error(ExitCode::bad_data, {path, "token id 50", "byte 1038", "vocabulary of 50"},
                    [&] {
                      open(path, {2, 50});
                    });
  CHECK(open(path, {2, 51})->samples() == 4);
  const auto source = open(path, {2, 50, 0, false});
  CHECK(read(*source, 0, 2).tokens[0] == 1);
  expect_user_error(ExitCode::bad_data, {path, "token id 50", "byte 1038"},
                    [&] { read(*source, 3, 2); });
}

TEST_CASE("missing, truncated and malformed token files are refused with a sentence") {
  const ScratchFolder folder;
  const auto write = [&](const std::string& bytes) { return folder.write("bad.bin", bytes); };
  const std::string ids = bytes_of(counting<std::uint16_t>(100));
  expect_user_error(ExitCode::input_missing, {folder.path("none.bin"), "missing"},
                    [&] { open(folder.path("none.bin"), {4}); });
  expect_user_error(ExitCode::bad_data, {folder.path()}, [&] { open(folder.path(), {4}); });
  expect_user_error(ExitCode::bad_data, {"bad.bin", "empty"}, [&] { open(write(""), {4}); });
  expect_user_error(ExitCode::bad_data,
                    {"bad.bin", "truncated", "100 tokens", "1224 bytes", "1223"},
                    [&] { open(write(header(20240520, 1, 100) + ids.substr(0, 199)), {4}); });
  expect_user_error(ExitCode::bad_data, {"goes on after its end", "1225"},
                    [&] { open(write(header(20240520, 1, 100) + ids + "x"), {4}); });
  expect_user_error(ExitCode::bad_data, {"inside its header"},
                    [&] { open(write(header(20240520, 1, 100).substr(0, 20)), {4}); });
  expect_user_error(ExitCode::bad_data, {"version 2"},
                    [&] { open(write(header(20240520, 2, 100) + ids), {4}); });
  expect_user_error(ExitCode::bad_data, {"data.dtype"}, [&] { open(write(ids), {4}); });
  expect_user_error(ExitCode::bad_data, {"data.dtype"}, [&] { open(write("ab"), {4}); });
  expect_user_error(ExitCode::bad_data, {"leave data.dtype out"},
                    [&] { open(write(header(20240520, 1, 100) + ids), {4}, uint16); });
  expect_user_error(ExitCode::bad_data, {"199 bytes", "2-byte"},
                    [&] { open(write(ids.substr(0, 199)), {4}, uint16); });
  expect_user_error(ExitCode::bad_data, {"100 tokens", "sample of 100"},
                    [&] { open(write(ids), {100}, uint16); });
  CHECK(open(write(ids), {99}, uint16)->samples() == 1);
}

TEST_CASE("a token file not given to a split is no source") {
  const ScratchFolder folder;
  const options::TokensOptions options{
      folder.write("train.bin", bytes_of(counting<std::uint16_t>(100))), std::nullopt, uint16};
  CHECK(open_source(options, Split::eval, {4}) == nullptr);
  CHECK(make_vocabulary(options) == nullptr);
  CHECK_FALSE(entropy_floor_nats(options, Split::train, {4}).has_value());
}

}  // namespace trainx::data::token_file_test
