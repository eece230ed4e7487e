#include "tokenizer/pattern/pattern.hpp"
#include "unit/data/expect_user_error.hpp"

namespace trainx::tokenizer::pattern_test {
namespace {

std::vector<std::string> matches(const std::string& pattern, const std::string& text) {
  const auto compiled = Pattern::expression(pattern, "here");
  MatchSpace space;
  std::vector<std::string> out;
  compiled.for_each_match(text, space, [&](std::size_t begin, std::size_t end) {
    out.push_back(text.substr(begin, end - begin));
  });
  return out;
}

using Strings = std::vector<std::string>;
const std::string gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace

TEST_CASE("patterns cut as their authors meant, in bytes of the text") {
  CHECK(matches(gpt2, "I'll pay 12,50 für  Öl\n\n x") ==
        Strings{"I", "'ll", " pay", " 12", ",", "50", " für", " ", " Öl", "\n\n", " x"});
  CHECK(matches(R"(\p{N}{1,3})", "1234567 ٣٤") == Strings{"123", "456", "7", "٣٤"});
  CHECK(matches("[a-c_\\-é]+", "abcd-_éa") == Strings{"abc", "-_éa"});
  CHECK(matches("(?i:'S|ll)", "'s'S'\u017f LL lL 's") ==
        Strings{"'s", "'S", "'\u017f", "LL", "lL", "'s"});
  CHECK(matches("a(?i)b(?:c)|x", "aBC abC aBc x X") == Strings{"aBC", "abC", "aBc", "x", "X"});
  CHECK(matches(R"(\p{Han}+)", "ab中文か") == Strings{"中文"});
  CHECK(matches(R"([^\S\n]+)", "a \t\nb\u3000") == Strings{" \t", "\u3000"});
  CHECK(matches(R"(\x{41}\u0042\x43\.)", "ABC. ABCD") == Strings{"ABC."});
  CHECK(matches("(?<=x)y++|z(?!z)", "xyyy yzz") == Strings{"yyy", "z"});
  CHECK(matches("a.c", "abc a\nc aéc") == Strings{"abc", "aéc"});
  CHECK(matches("a", "").empty());
}

TEST_CASE("a literal is what it says") {
  const auto compiled = Pattern::literal("a.+é", "here");
  MatchSpace space;
  std::vector<std::size_t> at;
  const std::string text = "ö a.+é aXXé a.+é";
  compiled.for_each_match(text, space, [&](std::size_t begin, std::size_t end) {
    at.push_back(begin);
    CHECK(text.substr(begin, end - begin) == "a.+é");
  });
  CHECK(at == std::vector<std::size_t>{3, 15});
}

TEST_CASE("a text of megabytes is matched, however far a match goes") {
  const std::string blanks(3 << 20, ' ');
  CHECK(matches(gpt2, blanks + "x").size() == 2);
  CHECK(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", blanks).size() == 1);
  CHECK(matches(R"((?:a|b)+)", std::string(1 << 20, 'a')).size() == 1);
}

TEST_CASE("what trainx does not know in a pattern is refused by name") {
  const std::pair<const char*, const char*> cases[] = {{"^a", "anchor ^"},
                                                       {"a$", "anchor $"},
                                                       {R"(\bx)", "\\b"},
                                                       {R"(\p{Greek_Extended})", "Greek_Extended"},
                                                       {R"((?P<n>a))", "(?P"},
                                                       {"[a&&b]", "&&"},
                                                       {"[[:alpha:]]", "POSIX"},
                                                       {"(a", "not closed"},
                                                       {"a)", "not open"},
                                                       {"[b-a]", "backwards"},
                                                       {"a*", "empty text"},
                                                       {"(?i:é)", "not ASCII"},
                                                       {"(?i:class)", "'ss'"},
                                                       {"[a", "ends too early"},
                                                       {"a{1,2}+", "{n,m}+"},
                                                       {"x{2", "{"},
                                                       {R"(\x{110000})", "escape"},
                                                       {"*a", "cannot be compiled"},
                                                       {R"(\1)", "\\1"},
                                                       {"\\", "too early"},
                                                       {R"(\p{L)", "\\p{"},
                                                       {"[]a]", "]"},
                                                       {"(?<x>a)", "(?<"}};
  for (const auto& [pattern, says] : cases) {
    INFO(pattern);
    data::expect_user_error(ExitCode::bad_data, {"here", says},
                            [&, p = pattern] { Pattern::expression(p, "here"); });
  }
}

}  // namespace trainx::tokenizer::pattern_test
