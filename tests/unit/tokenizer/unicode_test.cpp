#include "support/catch.hpp"
#include "tokenizer/unicode/code_point_set.hpp"
#include "tokenizer/unicode/normal_forms.hpp"
#include <random>

namespace trainx::tokenizer {

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
    const CodePointSet* set = set_of_category(name);
    if (name != "Cs") REQUIRE(set);
    if (set) all += set->size();
  }
  CHECK(all == code_points);
  CHECK(set_of_category("Xx") == nullptr);
  CHECK(set_of_category("L")->contains('a'));
  CHECK_FALSE(set_of_category("Lu")->contains('a'));
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

}  // namespace trainx::tokenizer
