#include "data/source.hpp"
#include "data/text/utf8.hpp"
#include "expect_user_error.hpp"
#include "scratch_folder.hpp"
#include <algorithm>

namespace trainx::data::text_files_test {
namespace {

std::unique_ptr<Source> open(const std::string& path, SourceOptions how) {
  return open_source(options::TextOptions{path, std::nullopt}, Split::train, how);
}

/// All bytes that the samples cover, as text: tokens, and the last target.
std::string all_text(const Source& source, std::size_t length) {
  const auto vocabulary = make_vocabulary(options::TextOptions{});
  std::vector<std::int32_t> tokens(length), targets(length);
  std::string text;
  for (std::int64_t i = 0; i < source.samples(); ++i) {
    source.read(i, {tokens, targets});
    text += vocabulary->decode(tokens);
    REQUIRE(std::equal(tokens.begin() + 1, tokens.end(), targets.begin()));
  }
  return text + vocabulary->decode(targets).back();
}

std::optional<std::size_t> malformed(std::string_view s) {
  return text::find_malformed_utf8(std::as_bytes(std::span(s.data(), s.size())));
}

}  // namespace

TEST_CASE(
    "a folder's files are one text, sub-folders too, by path; hidden and empty ones add nothing") {
  const ScratchFolder folder;
  folder.write("in/b.txt", "second ");
  folder.write("in/a/z.txt", "fir");
  folder.write("in/a/y.txt", "");
  folder.write("in/a.txt", "st, ");
  folder.write("in/c.txt", "third\n");
  folder.write("in/.hidden", "\xff");
  folder.write("in/.git/x", "\xff");
  // in/a.txt comes before in/a/z.txt: '.' before '/'
  const std::string want = "st, firsecond third\n";
  const auto source = open(folder.path("in"), {1});
  CHECK(source->vocab_size() == 256);
  CHECK(source->samples() == static_cast<std::int64_t>(want.size()) - 1);
  CHECK(all_text(*source, 1) == want);
  CHECK(all_text(*open(folder.path("in"), {3}), 3) == want.substr(0, 19));
  CHECK(all_text(*open(folder.path("in/c.txt"), {5}), 5) == "third\n");
}

TEST_CASE("bytes beyond ASCII are tokens from 0 to 255 and come back") {
  const ScratchFolder folder;
  const std::string text = "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80";
  CHECK(all_text(*open(folder.write("a.txt", text), {1}), 1) == text);
  const auto vocabulary = make_vocabulary(options::TextOptions{});
  CHECK(vocabulary->size() == 256);
  CHECK(vocabulary->encode("\xc3\xaf") == std::vector<std::int32_t>{0xc3, 0xaf});
  CHECK(vocabulary->decode(vocabulary->encode(text)) == text);
}

TEST_CASE("malformed UTF-8 is found where it begins") {
  CHECK_FALSE(malformed("").has_value());
  CHECK_FALSE(malformed("abc \xc2\x80 \xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbf").has_value());
  CHECK(malformed("ab\x80") == 2u);  // continuation without a lead
  CHECK(malformed("a\xc3") == 1u);   // ends inside a sequence
  CHECK(malformed("a\xc3"
                  "b") == 1u);
  CHECK(malformed("\xc0\xaf") == 0u);  // overlong
  CHECK(malformed("\xe0\x9f\xbf") == 0u);
  CHECK(malformed("\xf0\x8f\xbf\xbf") == 0u);
  CHECK(malformed("ok\xed\xa0\x80") == 2u);    // surrogate
  CHECK(malformed("\xf4\x90\x80\x80") == 0u);  // beyond U+10FFFF
  CHECK(malformed("\xe2\x82 ") == 0u);
  CHECK(malformed("\xff") == 0u);
}

TEST_CASE("text that cannot be read is refused with a sentence") {
  const ScratchFolder folder;
  folder.write("in/a.txt", "fine");
  const std::string bad = folder.write("in/b.txt", "cafe\xe9 au lait");
  expect_user_error(ExitCode::bad_data, {bad, "byte 4", "UTF-8"},
                    [&] { open(folder.path("in"), {2}); });
  CHECK(open(folder.path("in"), {2, 0, 0, false})->samples() == 8);  // sizes alone
  expect_user_error(ExitCode::input_missing, {"none.txt"},
                    [&] { open(folder.path("none.txt"), {2}); });
  expect_user_error(ExitCode::bad_data, {"empty"}, [&] { open(folder.write("e.txt", ""), {2}); });
  std::filesystem::create_directories(folder.path("nothing"));
  expect_user_error(ExitCode::bad_data, {"nothing", "no files"},
                    [&] { open(folder.path("nothing"), {2}); });
  expect_user_error(ExitCode::bad_data, {"too few", "4 bytes", "sample of 4"},
                    [&] { open(folder.path("in/a.txt"), {4}); });
  CHECK(open(folder.path("in/a.txt"), {3})->samples() == 1);
}

TEST_CASE("a byte beyond the model's vocabulary is named with file and offset") {
  const ScratchFolder folder;
  const std::string path = folder.write("a.txt",
                                        "abc\x7f"
                                        "d");
  expect_user_error(ExitCode::bad_data, {path, "token id 127", "byte 3"}, [&] {
    open(path, {2, 127});
  });
  std::vector<std::int32_t> tokens(2), targets(2);
  const auto source = open(path, {2, 127, 0, false});
  source->read(0, {tokens, targets});
  expect_user_error(ExitCode::bad_data, {path, "token id 127", "byte 3"}, [&] {
    source->read(1, {tokens, targets});
  });
}

TEST_CASE("held-out text is there where it is given") {
  const ScratchFolder folder;
  const std::string train = folder.write("a.txt", "train"),
                    eval = folder.write("b.txt", "held out");
  CHECK(open_source(options::TextOptions{train, std::nullopt}, Split::eval, {2}) == nullptr);
  CHECK(open_source(options::TextOptions{train, eval}, Split::eval, {2})->samples() == 3);
  CHECK_FALSE(entropy_floor_nats(options::TextOptions{train, eval}, Split::eval, {2}).has_value());
}

}  // namespace trainx::data::text_files_test
