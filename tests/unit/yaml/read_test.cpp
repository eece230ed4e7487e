#include "yaml/read.hpp"
#include "support/catch.hpp"
#include <chrono>
#include <random>

namespace trainx::yaml {
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
  const Document d = read_document("a: 1\nb:\n  'k\xC3\xA9y': \"w\xC3\xB6rd\"\nc: {\xC3\xA9\xC3\xA9: [x, y]}\n", "f", problems);
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

TEST_CASE("what YAML would let pass is refused, with its place") {
  CHECK(problems_of("a: 1\nb: {c: 1, c: 2}\na: 2\n") == Lines{"f:2:11: b.c: is given twice, first in line 2: remove one", "f:3:1: a: is given twice, first in line 1: remove one"});
  CHECK(problems_of("a: 1\n---\nb: 2\n") == Lines{"f:2:1: a second document begins here: a recipe is one document"});
  CHECK(problems_of("a: 1\n...\n").empty());
  CHECK(problems_of("a: !!int 3\nb: !x [1]\n") == Lines{"f:1:4: a: has the tag 'tag:yaml.org,2002:int': recipes have no tags, remove it", "f:2:4: b: has the tag '!x': recipes have no tags, remove it"});
  CHECK(problems_of("a: &x {b: 1}\nc:\n  <<: *x\n") == Lines{"f:3:3: c.<<: merge keys ('<<') are not read: use 'extends', or write the keys"});
  CHECK(problems_of("? [a]\n: 1\n").size() == 1);
  CHECK(problems_of("a: {{{b}}: 1}\n").size() >= 1);
  CHECK(problems_of("&k a: 1\n*k : 2\n") == Lines{"f:2:1: an alias cannot be a key: write the key"});
  CHECK(problems_of(": 1\n") == Lines{"f:1:1: a key is missing here: keys are words"});
}

TEST_CASE("bytes that are no text are a sentence") {
  CHECK(problems_of("\xEF\xBB\xBF""a: 1\n") == Lines{"f:1:1: starts with a byte order mark: save the file as UTF-8 without it"});
  CHECK(problems_of(std::string("\xFF\xFE" "a\0", 4)) == Lines{"f:1:1: is UTF-16: save the file as UTF-8"});
  CHECK(problems_of(std::string("a: 1\nb: x\0y\n", 12)) == Lines{"f:2:5: has a NUL byte here (byte 9): is this the right file?"});
  CHECK(problems_of("a: 1\nb: \xC3\x28\n") == Lines{"f:2:4: is not UTF-8 here (byte 8): save the file as UTF-8"});
  CHECK(problems_of("a: \xED\xA0\x80\n").size() == 1);            // a surrogate
  CHECK(problems_of("a: \xC0\xAF\n").size() == 1);                // overlong
  CHECK(problems_of("a: \x1B[31m\n") == Lines{"f:1:4: has a control character here (byte 3): remove it"});
  CHECK(problems_of("a: 1\r\nb: 2\r\n").empty());
  CHECK(problems_of("a: " + std::string(largest_document, 'x')) == Lines{"f:1:1: is larger than 1 MiB, which no recipe is: is this the right file?"});
}

TEST_CASE("tabs and open quotes do not hide what comes after them") {
  CHECK(problems_of("a:\n\tb: 1\n\tb: 2\n") == Lines{"f:2:1: is indented with a tab: YAML is indented with spaces", "f:3:1: is indented with a tab: YAML is indented with spaces",
                                                    "f:3:2: a.b: is given twice, first in line 2: remove one"});
  CHECK(problems_of("a: \"x\nb: 1\nb: 2\n") == Lines{"f:1:4: a quote is opened here and not closed on its line: close it", "f:3:1: b: is given twice, first in line 2: remove one"});
  CHECK(problems_of("z: it's\na: 'x\nb: \"1\"\nc: \"y\n") ==
        Lines{"f:2:4: a quote is opened here and not closed on its line: close it", "f:4:4: a quote is opened here and not closed on its line: close it"});
  CHECK(problems_of("a: {b: \"x, c: 1}\nd: 1\n") == Lines{"f:1:8: a quote is opened here and not closed on its line: close it"});
  CHECK(problems_of("a: \"one\n  two\"\nb: 1\n").empty());         // YAML's own quotes over lines are fine
  CHECK(problems_of("a: \"one\n  two\"\nb: {\n") == Lines{"f:3:4: this '{' is not closed: '}' or ',' is missing, or a value with '{', '}' or ',' needs quotes"});
  CHECK(problems_of("a: \"x\\") == Lines{"f:1:4: a quote is opened here and not closed on its line: close it"});
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
  CHECK(problems_of("a: &x [*x]\n") == Lines{"f:1:8: a[0]: this alias stands inside the value that it repeats, which would never end: write the value"});
  CHECK(problems_of("a: &x {b: {c: *x}}\n").size() == 1);
  CHECK(problems_of("a: *nowhere\n").size() == 1);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated("*a" + std::to_string(i - 1) + ", ", 8) + "*a" + std::to_string(i - 1) + "]\n";
  const auto start = std::chrono::steady_clock::now();
  const Lines lines = problems_of(bomb);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("aliases expand beyond 1 MiB") != std::string::npos);
  CHECK(problems_of("a: &x " + std::string(300000, 'y') + "\nb: [" + repeated("*x, ", 1000) + "]\n").size() == 1);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("nesting ends at 64 levels and no size of document takes long") {
  CHECK(problems_of(repeated("[", 64) + repeated("]", 64)).empty());
  CHECK(problems_of(repeated("[", 65) + repeated("]", 65)) == Lines{"f:1:65: is nested deeper than 64 levels"});
  std::string many_keys;
  for (int i = 0; i < 100000; ++i) many_keys += "k" + std::to_string(i) + ":\n";
  const auto start = std::chrono::steady_clock::now();
  CHECK(problems_of(many_keys).empty());
  CHECK(problems_of(repeated("[", 1000000)).back().find("is nested deeper than 64 levels") != std::string::npos);
  CHECK(problems_of(repeated("{", 1000000)).back().find("is nested deeper than 64 levels") != std::string::npos);
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
  const std::string pieces[] = {"a", "b", ": ", ":", "\n", "  ", "- ", "[", "]", "{", "}", ",", "\"", "'", "#", "&x ", "*x", "!t ", "|", ">", "? ", "---\n", "...\n", "%", "\t", "\\", "~",
                                "null", "1", "<<", "\xC3\xA9", "\r\n", "@", "`", "$", "\xFF", std::string(1, '\0')};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const std::size_t length = random() % 40;
    for (std::size_t i = 0; i < length; ++i) {
      if (round % 4 == 0) text += static_cast<char>(random() & 0xFF);
      else text += pieces[random() % (round % 4 == 1 ? std::size(pieces) : std::size(pieces) - 2)];
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

}  // namespace trainx::yaml
