#include "core/error.hpp"
#include "data/stories/check.hpp"
#include "data/stories/grammar.hpp"
#include "data/stories/sample.hpp"
#include "expect_user_error.hpp"
#include "story_agreement.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace trainx::data::stories::stories_test {
namespace {

using Ids = std::vector<std::int32_t>;

Ids draw(std::uint64_t seed, Split split, std::int64_t index, std::size_t count,
         std::vector<double>* nats = nullptr) {
  Ids ids(count);
  if (nats) nats->resize(count);
  draw_sample(seed, split, index, ids, nats ? std::span<double>(*nats) : std::span<double>{});
  return ids;
}

/// The first story of a sample, without the token that ends it.
std::vector<std::string> first_story(const Ids& ids) {
  const Grammar& grammar = Grammar::english();
  std::vector<std::string> words;
  for (const std::int32_t id : ids) {
    if (id == grammar.end_of_story()) return words;
    words.push_back(grammar.words()[static_cast<std::size_t>(id)]);
  }
  return {};
}

Ids ids_of(const std::vector<std::string>& words) {
  Ids ids;
  for (const std::string& w : words) ids.push_back(Grammar::english().find(w));
  return ids;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += w + " ";
  return text;
}

}  // namespace

TEST_CASE("stories have at least 300 words, all of which occur") {
  const Grammar& grammar = Grammar::english();
  CHECK(grammar.words().size() >= 300);
  std::set<std::int32_t> seen;
  for (int i = 0; i < 500; ++i) {
    const Ids ids = draw(1, Split::train, i, 200);
    seen.insert(ids.begin(), ids.end());
  }
  CHECK(seen.size() == grammar.words().size());
}

TEST_CASE(
    "at every state the next words are distinct and their probabilities sum to 1; what is drawn is "
    "recorded with its own") {
  const Grammar& grammar = Grammar::english();
  std::vector<Choice> choices;
  for (int i = 0; i < 300; ++i) {
    std::vector<double> nats;
    const Ids ids = draw(2, Split::train, i, 250, &nats);
    Position at = grammar.start();
    for (std::size_t t = 0; t < ids.size(); ++t) {
      grammar.choices(at, choices);
      double sum = 0, recorded = -1;
      std::set<std::int32_t> distinct;
      for (const Choice& c : choices) {
        sum += c.probability;
        distinct.insert(c.token);
        if (c.token == ids[t]) recorded = -std::log(c.probability);
      }
      INFO("sample " << i << ", token " << t);
      // so the text says which way the grammar went
      REQUIRE(distinct.size() == choices.size());
      REQUIRE(std::abs(sum - 1) < 1e-12);
      REQUIRE(std::abs(recorded - nats[t]) < 1e-12);
      REQUIRE(grammar.advance(at, ids[t]));
    }
  }
}

TEST_CASE("recorded probabilities are the frequencies of what follows the same beginning") {
  constexpr std::size_t length = 14, samples = 40'000;
  // token: how often, its recorded p
  struct Count {
    double all = 0;
    std::map<std::int32_t, std::pair<double, double>> next;
  };
  std::map<Ids, Count> counts;
  for (std::size_t i = 0; i < samples; ++i) {
    std::vector<double> nats;
    const Ids ids = draw(3, Split::train, static_cast<std::int64_t>(i), length, &nats);
    for (std::size_t t = 0; t < length; ++t) {
      Count& count = counts[Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(t))];
      ++count.all;
      auto& [often, probability] = count.next[ids[t]];
      ++often;
      probability = std::exp(-nats[t]);
    }
  }
  int states = 0;
  for (const auto& [prefix, count] : counts) {
    if (count.all < 400) continue;
    ++states;
    for (const auto& [token, entry] : count.next) {
      const auto [often, p] = entry;
      const double deviation = std::sqrt(p * (1 - p) / count.all);
      INFO("after " << prefix.size() << " words, token " << token << ": p " << p << ", frequency "
                    << often / count.all);
      REQUIRE(std::abs(often / count.all - p) <= 5 * deviation + 1e-12);
    }
  }
  CHECK(states >= 50);
}

TEST_CASE(
    "the floor is the mean of what was recorded, and unigram entropy is at least twice as high") {
  const options::StoriesOptions options;
  const SourceOptions how{128, 0, 42};
  const auto floor = entropy_floor_nats(options, Split::eval, how);
  REQUIRE(floor.has_value());
  double sum = 0, unigram = 0;
  std::map<std::int32_t, double> counts;
  const double targets = static_cast<double>(options.eval_samples) * 128;
  for (std::int64_t i = 0; i < options.eval_samples; ++i) {
    std::vector<double> nats;
    const Ids ids = draw(42, Split::eval, i, 129, &nats);
    for (std::size_t t = 1; t < ids.size(); ++t) {
      sum += nats[t];
      ++counts[ids[t]];
    }
  }
  for (const auto& [token, n] : counts) unigram -= n / targets * std::log(n / targets);
  INFO("floor " << *floor << ", unigram entropy " << unigram);
  CHECK(std::abs(*floor - sum / targets) < 1e-9);
  CHECK(unigram >= 2 * *floor);
  CHECK(*floor > 0.5);
  CHECK(std::abs(*entropy_floor_nats(options, Split::train, how) - *floor) < 0.02 * *floor);
  CHECK(*entropy_floor_nats(options::StoriesOptions{1, 1}, Split::train, {1, 0, 42}) >= 0);
}

TEST_CASE("samples depend on seed, split and index alone") {
  CHECK(draw(42, Split::train, 1'000'000, 60) == draw(42, Split::train, 1'000'000, 60));
  const Ids longer = draw(42, Split::train, 5, 300), shorter = draw(42, Split::train, 5, 50);
  CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  std::set<Ids> distinct;
  for (std::int64_t i = 0; i < 2000; ++i) {
    for (const Split split : {Split::train, Split::eval}) {
      distinct.insert(draw(42, split, i, 129));
      distinct.insert(draw(43, split, i, 129));
    }
  }
  CHECK(distinct.size() == 8000);
}

TEST_CASE("the source gives tokens and, shifted by one, targets") {
  const auto train = open_source(options::StoriesOptions{100, 7}, Split::train, {40, 0, 9});
  const auto eval = open_source(options::StoriesOptions{100, 7}, Split::eval, {40, 0, 9});
  CHECK(train->samples() == 100);
  CHECK(eval->samples() == 7);
  CHECK(train->vocab_size() == static_cast<std::int64_t>(Grammar::english().words().size()));
  Ids tokens(40), targets(40);
  train->read(99, {tokens, targets});
  const Ids whole = draw(9, Split::train, 99, 41);
  CHECK(tokens == Ids(whole.begin(), whole.end() - 1));
  CHECK(targets == Ids(whole.begin() + 1, whole.end()));
  CHECK_THROWS_AS(train->read(100, {tokens, targets}), InternalError);
  CHECK_THROWS_AS(eval->read(7, {tokens, targets}), InternalError);
  expect_user_error(ExitCode::bad_data, {"vocabulary only 100"}, [] {
    open_source(options::StoriesOptions{}, Split::train, {40, 100});
  });
}

TEST_CASE("two readers accept the stories: the grammar's own and one that knows nothing of it") {
  int stories = 0;
  for (int i = 0; i < 1000; ++i) {
    const Ids ids = draw(11, Split::train, i, 250);
    REQUIRE(check_story(ids).ok());
    const auto words = first_story(ids);
    REQUIRE_FALSE(words.empty());
    INFO(joined(words));
    REQUIRE(objection_to_story(words) == "");
    ++stories;
  }
  CHECK(stories == 1000);
}

TEST_CASE("both readers reject broken agreement, also over more than ten words") {
  const std::map<std::string, std::string> swaps{
      {"was", "were"},           {"were", "was"}, {"himself", "herself"}, {"herself", "himself"},
      {"themselves", "himself"}, {"He", "She"},   {"She", "They"},        {"They", "He"},
      {"him", "them"},           {"them", "him"}, {"they", "she"},        {"their", "his"}};
  const std::set<std::string> names{"Tom", "Jack", "Ben", "Max", "Anna", "Lily", "Mia", "Rose"},
      things{"key", "ring", "ball", "drum", "book", "lamp", "hat"};
  std::map<std::string, int> broken;
  std::size_t far = 0;
  for (int i = 0; i < 1500; ++i) {
    const auto words = first_story(draw(12, Split::train, i, 250));
    std::set<std::string> seen;
    for (std::size_t t = 0; t < words.size(); ++t) {
      auto wrong = words;
      const bool again = !seen.insert(words[t]).second;
      if (const auto swap = swaps.find(words[t]); swap != swaps.end()) {
        // "there was a", before anybody is known: left to the grammar's reader
        if (words[t - 1] == "there") continue;
        wrong[t] = swap->second;
      } else if (again && names.contains(words[t])) {
        wrong[t] = words[t] == "Tom" ? "Jack" : "Tom";
        // the other one's name
        if (std::find(words.begin(), words.end(), wrong[t]) != words.end()) continue;
      } else if (again && things.contains(words[t])) {
        wrong[t] = words[t] == "key" ? "ring" : "key";
      } else {
        continue;
      }
      INFO(joined(wrong));
      INFO(words[t] << " became " << wrong[t]);
      REQUIRE_FALSE(check_story(ids_of(wrong)).ok());
      REQUIRE(objection_to_story(wrong) != "");
      ++broken[words[t]];
      // "The fox , who ... , was"
      if ((words[t] == "was" || words[t] == "were") && words[t - 1] == ",") {
        const auto sentence =
            std::find(std::make_reverse_iterator(words.begin() + static_cast<std::ptrdiff_t>(t)),
                      words.rend(), ".");
        const auto distance = static_cast<std::size_t>(
            sentence - std::make_reverse_iterator(words.begin() + static_cast<std::ptrdiff_t>(t)));
        // words between the noun and its verb: those of the sentence so far less "The fox" and ","
        REQUIRE(distance - 3 > 10);
        ++far;
      }
    }
  }
  CHECK(far == 1500);
  for (const auto& [word, other] : swaps) {
    INFO(word);
    CHECK(broken[word] > 20);
  }
}

TEST_CASE("the checker says how far a text is a story, and where it is none") {
  CHECK(is_story_text("Once upon a time there was a"));
  CHECK(is_story_text(""));
  CHECK_FALSE(is_story_text("Once upon a time there was were"));
  CHECK_FALSE(is_story_text("Once upon a xylophone"));
  const StoryReport report = check_story_text(
      "Once a clever goat named Sam lived in a tiny cabin near the sunny orchard. Every day she "
      "ate");
  CHECK(report.accepted == 18);
  CHECK(report.sentences == 1);
  CHECK(report.stories == 0);
  CHECK(report.problem.find("'she'") != std::string::npos);
  CHECK(report.problem.find("'he'") != std::string::npos);
  CHECK_FALSE(check_story(Ids{-1}).ok());
  const StoryReport whole = check_story(draw(4, Split::eval, 0, 500));
  CHECK(whole.ok());
  CHECK(whole.stories >= 3);
  CHECK(whole.sentences >= 7 * whole.stories);
}

}  // namespace trainx::data::stories::stories_test
