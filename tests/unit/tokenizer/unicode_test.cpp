#include "support/catch.hpp"
#include "tokenizer/pattern/code_point_codes.hpp"
#include "tokenizer/unicode/code_point_set.hpp"
#include "tokenizer/unicode/normal_forms.hpp"
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace trainx::tokenizer::unicode_test {

TEST_CASE("normal forms") {
  CHECK(normalize("e\u0301", NormalForm::nfc) == "\u00e9");
  CHECK(normalize("\u00e9", NormalForm::nfd) == "e\u0301");
  CHECK(normalize("\ufb01\u2460\uff21", NormalForm::nfkc) == "fi1A");
  CHECK(normalize("\u1112\u1161\u11ab", NormalForm::nfc) == "\ud55c");
  CHECK(normalize("\ud55c", NormalForm::nfkd) == "\u1112\u1161\u11ab");
  // marks in canonical order
  CHECK(normalize("a\u0315\u0300\u05ae\u0301", NormalForm::nfd) == "a\u05ae\u0300\u0301\u0315");
  CHECK(normalize("\u0344", NormalForm::nfc) == "\u0308\u0301");
  CHECK(normalize("plain", NormalForm::nfkd) == "plain");
  CHECK(normalize("", NormalForm::nfc).empty());
  // What is newer than the reference's tables it leaves as it is.
  CHECK(normalize("\u32ff", NormalForm::nfkc) == "\u32ff");
  CHECK(normalize("\U00011935\U00011930", NormalForm::nfc) == "\U00011935\U00011930");
}

TEST_CASE("normalising twice changes nothing more, and NFC undoes NFD") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 6; ++i) {
      std::uint32_t c = 0;
      do c = random() % 3 == 0 ? 0x300 + random() % 0x70 : random() % code_points;
      while (c >= 0xd800 && c < 0xe000);
      append_utf8(c, text);
    }
    for (const auto form : {NormalForm::nfc, NormalForm::nfd, NormalForm::nfkc, NormalForm::nfkd})
      REQUIRE(normalize(normalize(text, form), form) == normalize(text, form));
    REQUIRE(normalize(normalize(text, NormalForm::nfd), NormalForm::nfc) ==
            normalize(text, NormalForm::nfc));
  }
}

TEST_CASE("lower case goes code point by code point") {
  CHECK(lowercase("ÀÉ\u0130ΣΑΣ STRASSE ß \u1e9e\u2160") ==
        "àé"
        "i\u0307σασ strasse ß ß\u2170");
}

TEST_CASE("categories make up all code points, each in one") {
  std::size_t all = 0;
  for (const auto name : category_names) {
    const CodePointRanges* set = ranges_of_category(name);
    if (name != "Cs") REQUIRE(set);
    if (!set) continue;
    CodePointRanges ranges = *set;
    for (const CodePointRange& r : ranges.ranges()) all += r.last - r.first + 1;
  }
  CHECK(all == code_points);
  CHECK(ranges_of_category("Xx") == nullptr);
  const auto has_a = [](CodePointRanges ranges) {
    return std::ranges::any_of(
        ranges.ranges(), [](const CodePointRange& r) { return r.first <= 'a' && 'a' <= r.last; });
  };
  CHECK(has_a(*ranges_of_category("L")));
  CHECK_FALSE(has_a(*ranges_of_category("Lu")));
}

TEST_CASE("categories are those of Unicode 16.0") {
  // FNV-1a (64 bits) over each code point's place in category_names. The table equals
  // unicodedata.category of Python's unicodedata2 16.0.0 for each code point but the surrogates,
  // which no text holds: the table has them as Cn.
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto runs = category_runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint32_t end = i + 1 < runs.size() ? runs[i + 1].first : code_points;
    for (std::uint32_t c = runs[i].first; c < end; ++c)
      hash = (hash ^ runs[i].category) * 0x100000001b3;
  }
  CHECK(hash == 0xd99ff3548dcfab71);
}

TEST_CASE("ranges in any order are the set that they make up, and invert to the others") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    CodePointRanges ranges, others;
    auto set = std::make_unique<CodePointSet>();
    for (std::uint64_t i = random() % 20; i > 0; --i) {
      // Some lie at the ends of all code points, and of pages of 256.
      const auto first = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % 0x11 << 16
                                                                      : random() % code_points);
      const auto last = std::min<std::uint32_t>(
          first + static_cast<std::uint32_t>(random() % (random() % 2 ? 3 : 0x20000)),
          code_points - 1);
      (random() % 2 ? ranges : others).add(first, last);
      set->add(first, last);
    }
    ranges |= others;
    const bool inverted = random() % 2 == 0;
    if (inverted) ranges.invert();
    std::uint32_t next = 0;
    bool same = true;
    for (const CodePointRange& r : ranges.ranges()) {
      REQUIRE((r.first <= r.last && (next == 0 || r.first > next)));  // apart from each other
      for (; next < r.first; ++next) same = same && set->contains(next) == inverted;
      for (; next <= r.last; ++next) same = same && set->contains(next) != inverted;
    }
    for (; next < code_points; ++next) same = same && set->contains(next) == inverted;
    REQUIRE(same);
  }
}

TEST_CASE("code points have one code where they lie in the same sets, and only there") {
  std::vector<CodePointRanges> sets(5);
  sets[0] = *ranges_of_category("L");
  sets[1] = CodePointRanges(CodePointClass::onig_space);
  sets[2].add('a', 'a');
  sets[3].add(0x100, 0x2ff);  // whole pages of 256
  sets[3].add(0xffff, 0x10000);
  sets[4] = *ranges_of_category("Nd");
  sets[4].invert();
  CodePointCodes codes;
  REQUIRE(codes.split_by(sets));
  std::string text, encoded;
  for (std::uint32_t c = 0; c < code_points; ++c) append_utf8(c, text);
  codes.encode(text, encoded);
  REQUIRE(encoded.size() == code_points);
  std::vector<std::uint8_t> lies_in(code_points, 0);
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (const CodePointRange& r : sets[i].ranges())
      for (std::uint32_t c = r.first; c <= r.last; ++c)
        lies_in[c] = static_cast<std::uint8_t>(lies_in[c] | 1 << i);
  std::map<std::uint8_t, std::set<unsigned char>> found;
  std::set<unsigned char> different;
  for (std::uint32_t c = 0; c < code_points; ++c) {
    found[lies_in[c]].insert(static_cast<unsigned char>(encoded[c]));
    different.insert(static_cast<unsigned char>(encoded[c]));
  }
  CHECK(different.size() == found.size());
  for (const auto& [where, one] : found) CHECK(one.size() == 1);
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (const auto& [where, one] : found)
      CHECK(codes.codes_of(sets[i])[*one.begin()] == ((where >> i & 1) != 0));
}

TEST_CASE("bytes that are no UTF-8 become one U+FFFD for each maximal part") {
  const std::string r = "\ufffd";
  CHECK(with_replacements("a\xe4\xb8z") == "a" + r + "z");
  CHECK(with_replacements("\xf0\x9f\x98") == r);
  CHECK(with_replacements("\xed\xa0\x80") == r + r + r);
  CHECK(with_replacements("\xc0\xaf\xff") == r + r + r);
  CHECK(with_replacements("\xf4\x90\x80\x80") == r + r + r + r);
  CHECK(with_replacements("héß中😀") == "héß中😀");
}

}  // namespace trainx::tokenizer::unicode_test
