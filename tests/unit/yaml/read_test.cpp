#include "yaml/read.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <chrono>
#include <random>

namespace trainx::yaml::read_test {
namespace {

using Lines = std::vector<std::string>;

Lines problems_of(const std::string& text) {
  Problems problems;
  read_document(text, "f", problems);
  return problems.lines();
}

std::string repeated(const std::string& unit, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += unit;
  return out;
}

}  // namespace

TEST_CASE("every key and value knows its line and column, counted in characters") {
  Problems problems;
  const Document d = read_document(
      "a: 1\nb:\n  'k\xC3\xA9y': \"w\xC3\xB6rd\"\nc: {\xC3\xA9\xC3\xA9: [x, y]}\n", "f", problems);
  REQUIRE(problems.empty());
  REQUIRE(d.complete);
  CHECK(to_string(d.root.find("a")->value.where) == "f:1:4");
  const Entry& word = d.root.find("b")->value.entries.at(0);
  CHECK(word.key == "k\xC3\xA9y");
  CHECK(to_string(word.where) == "f:3:3");
  CHECK(to_string(word.value.where) == "f:3:10");
  CHECK(word.value.quoted);
  const Entry& list = d.root.find("c")->value.entries.at(0);
  CHECK(to_string(list.value.items.at(1).where) == "f:4:13");
  CHECK_FALSE(list.value.items.at(1).quoted);
}

TEST_CASE("null is told from an empty value and from the text null") {
  Problems problems;
  const Document d = read_document("a: null\nb:\nc: 'null'\nd: ~\n", "f", problems);
  REQUIRE(problems.empty());
  CHECK(d.root.find("a")->value.text == "null");
  CHECK(d.root.find("b")->value.kind == Node::Kind::null);
  CHECK(d.root.find("b")->value.text.empty());
  CHECK(to_string(d.root.find("b")->value.where) == "f:2:1");
  CHECK(d.root.find("c")->value.is_scalar());
  CHECK(d.root.find("d")->value.text == "~");
}

TEST_CASE("escapes beyond ASCII become UTF-8, in keys too") {
  Problems problems;
  const Document d = read_document(
      R"("k\_": "\_\N\L\P \xA0\x85\xE9 \u00e9\u2028 \U0001F600 é\_ é")", "f", problems);
  REQUIRE(problems.empty());
  REQUIRE(d.root.find("k\xC2\xA0"));
  CHECK(d.root.find("k\xC2\xA0")->value.text ==
        "\xC2\xA0\xC2\x85\xE2\x80\xA8\xE2\x80\xA9 \xC2\xA0\xC2\x85\xC3\xA9 \xC3\xA9\xE2\x80\xA8 "
        "\xF0\x9F\x98\x80 \xC3\xA9\xC2\xA0 \xC3\xA9");
}

TEST_CASE("what YAML would let pass is refused, with its place") {
  check_problems("yaml.read/b_c_given_twice_first", problems_of("a: 1\nb: {c: 1, c: 2}\na: 2\n"),
                 {"f:2:11: b.c:", "f:3:1: a:"});
  check_problems("yaml.read/second_document_begins_here_recipe", problems_of("a: 1\n---\nb: 2\n"),
                 {"f:2:1:"});
  CHECK(problems_of("a: 1\n...\n").empty());
  check_problems("yaml.read/tag_recipes_have_no_tags", problems_of("a: !!int 3\nb: !x [1]\n"),
                 {"f:1:4: a:", "f:2:4: b:"});
  check_problems("yaml.read/c_merge_keys_not_read", problems_of("a: &x {b: 1}\nc:\n  <<: *x\n"),
                 {"f:3:3: c.<<:"});
  CHECK(problems_of("? [a]\n: 1\n").size() == 1);
  CHECK(problems_of("a: {{{b}}: 1}\n").size() >= 1);
  check_problems("yaml.read/alias_cannot_key_write_key", problems_of("&k a: 1\n*k : 2\n"),
                 {"f:2:1:"});
  check_problems("yaml.read/key_missing_here_keys_words", problems_of(": 1\n"), {"f:1:1:"});
}

TEST_CASE("bytes that are no text are a sentence") {
  check_problems("yaml.read/starts_order_mark_save_file",
                 problems_of("\xEF\xBB\xBF"
                             "a: 1\n"),
                 {"f:1:1:"});
  check_problems("yaml.read/utf_save_file_as_utf",
                 problems_of(std::string("\xFF\xFE"
                                         "a\0",
                                         4)),
                 {"f:1:1:"});
  check_problems("yaml.read/nul_here_this_right_file",
                 problems_of(std::string("a: 1\nb: x\0y\n", 12)), {"f:2:5:"});
  check_problems("yaml.read/not_utf_here_save_file", problems_of("a: 1\nb: \xC3\x28\n"),
                 {"f:2:4:"});
  CHECK(problems_of("a: \xED\xA0\x80\n").size() == 1);  // a surrogate
  CHECK(problems_of("a: \xC0\xAF\n").size() == 1);      // overlong
  check_problems("yaml.read/control_character_here_remove", problems_of("a: \x1B[31m\n"),
                 {"f:1:4:"});
  CHECK(problems_of("a: 1\r\nb: 2\r\n").empty());
  check_problems("yaml.read/larger_than_mib_no_recipe",
                 problems_of("a: " + std::string(largest_document, 'x')), {"f:1:1:"});
}

TEST_CASE("tabs and open quotes do not hide what comes after them") {
  check_problems("yaml.read/indented_tab_indented_spaces_indented",
                 problems_of("a:\n\tb: 1\n\tb: 2\n"), {"f:2:1:", "f:3:1:", "f:3:2: a.b:"});
  check_problems("yaml.read/quote_opened_here_not_closed", problems_of("a: \"x\nb: 1\nb: 2\n"),
                 {"f:1:4:", "f:3:1: b:"});
  check_problems("yaml.read/quote_opened_here_not_closed_2",
                 problems_of("z: it's\na: 'x\nb: \"1\"\nc: \"y\n"), {"f:2:4:", "f:4:4:"});
  check_problems("yaml.read/quote_opened_here_not_closed_3",
                 problems_of("a: {b: \"x, c: 1}\nd: 1\n"), {"f:1:8:"});
  // YAML's own quotes over lines are fine
  CHECK(problems_of("a: \"one\n  two\"\nb: 1\n").empty());
  check_problems("yaml.read/this_not_closed_or_missing", problems_of("a: \"one\n  two\"\nb: {\n"),
                 {"f:3:4:"});
  check_problems("yaml.read/quote_open_at_the_end", problems_of("a: \"x\\"), {"f:1:4:"});
}

TEST_CASE("what stands before a syntax error is still read") {
  Problems problems;
  const Document d = read_document("a: {b: 1}\nc: 2\nd: [1, 2\n", "f", problems);
  CHECK_FALSE(d.complete);
  REQUIRE(d.root.find("c"));
  CHECK(d.root.find("a")->value.find("b")->value.text == "1");
  CHECK(problems.size() == 1);
}

TEST_CASE("aliases repeat values, but neither themselves nor without end") {
  Problems problems;
  const Document d = read_document("a: &x {k: [1, 2]}\nb: *x\n", "f", problems);
  REQUIRE(problems.empty());
  CHECK(d.root.find("b")->value.find("k")->value.items.size() == 2);
  check_problems("yaml.read/this_alias_stands_inside_value", problems_of("a: &x [*x]\n"),
                 {"f:1:8: a[0]:"});
  CHECK(problems_of("a: &x {b: {c: *x}}\n").size() == 1);
  CHECK(problems_of("a: *nowhere\n").size() == 1);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i)
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
            repeated("*a" + std::to_string(i - 1) + ", ", 8) + "*a" + std::to_string(i - 1) + "]\n";
  const auto start = std::chrono::steady_clock::now();
  const Lines lines = problems_of(bomb);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("aliases expand beyond 64 KiB") != std::string::npos);
  CHECK(problems_of("a: &x " + std::string(300000, 'y') + "\nb: [" + repeated("*x, ", 1000) + "]\n")
            .size() == 1);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("nesting ends at 64 levels and no size of document takes long") {
  CHECK(problems_of(repeated("[", 64) + repeated("]", 64)).empty());
  check_problems("yaml.read/nested_deeper_than_levels",
                 problems_of(repeated("[", 65) + repeated("]", 65)), {"f:1:65:"});
  std::string many_keys;
  for (int i = 0; i < 100000; ++i) many_keys += "k" + std::to_string(i) + ":\n";
  const auto start = std::chrono::steady_clock::now();
  CHECK(problems_of(many_keys).empty());
  check_sentence("yaml.read/nested_deeper_than_levels_2",
                 problems_of(repeated("[", 1000000)).back());
  check_sentence("yaml.read/nested_deeper_than_levels_3",
                 problems_of(repeated("{", 1000000)).back());
  CHECK(problems_of(repeated("- ", 500000)).size() == 1);
  CHECK(problems_of(repeated("? ", 500000)).size() >= 1);
  CHECK(problems_of(repeated("\ta:\n", 250000)).size() == 501);
  CHECK(problems_of("a: [" + repeated("1,", 500000) + "]").empty());
  problems_of(repeated("\"", 1000000));
  problems_of(repeated("a: 'x\n", 150000));
  problems_of(repeated(" ", 1000000));
  problems_of(repeated("&a ", 300000));
  problems_of(repeated("a:", 500000));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("no bytes crash the reader") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string pieces[] = {"a",
                                "b",
                                ": ",
                                ":",
                                "\n",
                                "  ",
                                "- ",
                                "[",
                                "]",
                                "{",
                                "}",
                                ",",
                                "\"",
                                "'",
                                "#",
                                "&x ",
                                "*x",
                                "!t ",
                                "|",
                                ">",
                                "? ",
                                "---\n",
                                "...\n",
                                "%",
                                "\t",
                                "\\",
                                "~",
                                "null",
                                "1",
                                "<<",
                                "\xC3\xA9",
                                "\r\n",
                                "@",
                                "`",
                                "$",
                                "\xFF",
                                std::string(1, '\0')};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const std::size_t length = random() % 40;
    for (std::size_t i = 0; i < length; ++i) {
      if (round % 4 == 0)
        text += static_cast<char>(random() & 0xFF);
      else
        text += pieces[random() % (round % 4 == 1 ? std::size(pieces) : std::size(pieces) - 2)];
    }
    INFO(excerpt(text));
    Problems problems;
    const Document d = read_document(text, "f", problems);
    if (!(d.complete || !problems.empty())) FAIL("incomplete without a word");
    for (const std::string& line : problems.lines())
      if (!line.starts_with("f:")) FAIL(line);
  }
  SUCCEED();
}

}  // namespace trainx::yaml::read_test
