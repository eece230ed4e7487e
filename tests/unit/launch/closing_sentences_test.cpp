#include "launch/closing_sentences.hpp"
#include "support/catch.hpp"

namespace closing_sentences_test {

using namespace trainx;
using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

TEST_CASE("ranks in front of a line") {
  CHECK(launch::rank_prefix({3}) == "[rank 3] ");
  CHECK(launch::rank_prefix({1, 2, 3}) == "[ranks 1-3] ");
  CHECK(launch::rank_prefix({1, 3, 4, 9}) == "[ranks 1,3-4,9] ");
}

TEST_CASE("colours are taken out") {
  CHECK(launch::without_colors("\033[31mtrainx:\033[0m words") == "trainx: words");
  CHECK(launch::without_colors("a\033[1;32mb\033[Kc") == "abc");
  CHECK(launch::without_colors("plain \033 and cut \033[3") == "plain \033 and cut ");
  CHECK(launch::without_colors("") == "");
}

TEST_CASE("the same sentence is told once, for all that said it") {
  launch::ClosingSentences closing;
  const auto now = std::chrono::steady_clock::now();
  CHECK(closing.due() == launch::ClosingSentences::Time::max());
  CHECK_FALSE(closing.keep(1, "step 3", now));
  CHECK(closing.keep(2, "\033[31mtrainx:\033[0m lost", now));
  CHECK(closing.keep(3, "trainx: other", now + 300ms));
  CHECK(closing.keep(1, "trainx: lost", now + 400ms));
  CHECK(closing.keep(3, "  with a detail", now + 500ms));
  CHECK_FALSE(closing.keep(4, "  with a detail", now));
  CHECK(closing.due() == now + 1s);
  CHECK(closing.release() ==
        Lines{"[ranks 1-2] trainx: lost", "[rank 3] trainx: other", "[rank 3]   with a detail"});
  CHECK(closing.release().empty());
  CHECK(closing.keep(5, "trainx: lost", now + 5s));
  CHECK(closing.keep(6, "trainx: mine", now + 5s));
  CHECK(closing.release() == Lines{"[rank 6] trainx: mine"});
  closing.told("trainx: told by rank 0");
  CHECK(closing.keep(7, "trainx: told by rank 0", now));
  CHECK(closing.release().empty());
}

}  // namespace closing_sentences_test
