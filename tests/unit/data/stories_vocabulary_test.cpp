#include "data/stories/check.hpp"
#include "data/stories/sample.hpp"
#include "expect_user_error.hpp"

namespace trainx::data::stories_vocabulary_test {

TEST_CASE("stories decode to English and encode back") {
  const auto vocabulary = make_vocabulary(options::StoriesOptions{});
  CHECK(vocabulary->decode(vocabulary->encode("Once upon a time there was a")) ==
        "Once upon a time there was a");
  CHECK(vocabulary->decode(vocabulary->encode("  One day he ate milk ,pie and\n corn .")) ==
        "One day he ate milk, pie and corn.");
  CHECK(vocabulary->encode("").empty());
  for (std::int64_t i = 0; i < 50; ++i) {
    std::vector<std::int32_t> ids(300);
    stories::draw_sample(42, Split::eval, i, ids);
    const std::string text = vocabulary->decode(ids);
    REQUIRE(vocabulary->encode(text) == ids);
    REQUIRE(stories::is_story_text(text));
    CHECK(text.find(" .") == std::string::npos);
    CHECK(text.find(" ,") == std::string::npos);
    CHECK(text.find("<end>") == std::string::npos);
    // one of them is there: stories end with a blank line
    CHECK(text.find(".\n\nOnce ") != text.find(".\n\nLong "));
  }
}

TEST_CASE("a line break is a space, a blank line the end of a story") {
  const auto vocabulary = make_vocabulary(options::StoriesOptions{});
  const auto line = vocabulary->encode("coins.\nOnce"),
             blank = vocabulary->encode("coins.\n\nOnce"),
             spaced = vocabulary->encode("coins. \r\n \n\n Once");
  CHECK(line.size() == 3);
  CHECK(blank.size() == 4);
  CHECK(spaced == blank);
  CHECK(vocabulary->decode(blank) == "coins.\n\nOnce");
}

TEST_CASE("a word that is not in the vocabulary is named with the nearest one") {
  const auto vocabulary = make_vocabulary(options::StoriesOptions{});
  expect_user_error(ExitCode::bad_data, {"'once'", "'Once'"},
                    [&] { vocabulary->encode("once upon"); });
  expect_user_error(ExitCode::bad_data, {"'castel'", "'castle'"},
                    [&] { vocabulary->encode("the castel"); });
  expect_user_error(ExitCode::bad_data, {"'<end>'"}, [&] { vocabulary->encode("coins . <end>"); });
  CHECK_THROWS_AS(vocabulary->decode(std::vector<std::int32_t>{100'000}), InternalError);
}

}  // namespace trainx::data::stories_vocabulary_test
