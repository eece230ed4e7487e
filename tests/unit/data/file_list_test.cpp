#include "data/files/file_list.hpp"
#include "data/files/held_out.hpp"
#include "data/order.hpp"
#include "expect_user_error.hpp"
#include "sample.hpp"
#include "scratch_folder.hpp"
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

namespace trainx::data::file_list_test {
namespace {

std::string token_file(const std::vector<std::uint16_t>& ids) {
  std::vector<std::int32_t> words(256);
  words[0] = 20240520;
  words[1] = 1;
  words[2] = static_cast<std::int32_t>(ids.size());
  std::string out(reinterpret_cast<const char*>(words.data()), 1024);
  return out.append(reinterpret_cast<const char*>(ids.data()), 2 * ids.size());
}

std::vector<std::uint16_t> counting(std::uint16_t first, std::size_t n) {
  std::vector<std::uint16_t> ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::uint16_t>(first + i);
  return ids;
}

std::unique_ptr<Source> open_tokens(const options::FileList& files, std::int64_t length) {
  return open_source(options::TokensOptions{.train = files}, Split::train, {length});
}

/// Tokens and targets of all samples, one behind the other.
std::vector<std::pair<Ids, Ids>> all_samples(const Source& source, std::size_t length) {
  std::vector<std::pair<Ids, Ids>> out;
  for (std::int64_t i = 0; i < source.samples(); ++i) {
    const Sample s = read_sample(source, i, length);
    out.emplace_back(s.tokens, s.targets);
  }
  return out;
}

}  // namespace

TEST_CASE("globs stand for what they match, sorted by name; a list keeps its order") {
  const ScratchFolder folder;
  for (const char* name :
       {"b.bin", "a.bin", "a10.bin", "a2.bin", "c.txt", "[x].bin", ".hidden.bin"})
    folder.write(name, "1");
  const auto names = [&](const options::FileList& files) {
    std::vector<std::string> out;
    for (const std::string& path : expand(files)) out.push_back(path.substr(folder.path().size()));
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(names(folder.path("a*.bin")) == Names{"a.bin", "a10.bin", "a2.bin"});
  CHECK(names(folder.path("?.[bt]*")) == Names{"a.bin", "b.bin", "c.txt"});
  CHECK(names(std::vector<std::string>{folder.path("b.bin"), folder.path("a?.bin")}) ==
        Names{"b.bin", "a2.bin"});
  CHECK(names(folder.path("[x].bin")) == Names{"[x].bin"});          // a file of that very name
  CHECK(names(folder.path("missing.bin")) == Names{"missing.bin"});  // opening it tells
  expect_user_error(ExitCode::input_missing, {"none*.bin"},
                    [&] { expand(folder.path("none*.bin")); });
  expect_user_error(ExitCode::invalid_recipe, {"a.bin"}, [&] {
    expand(std::vector<std::string>{folder.path("a.bin"), folder.path("a*.bin")});
  });
  expect_user_error(ExitCode::invalid_recipe, {"b.bin"}, [&] {
    check_files(
        options::TokensOptions{.train = folder.path("*.bin"), .eval = folder.path("b.bin")});
  });
  CHECK_NOTHROW(check_files(
      options::TokensOptions{.train = folder.path("a*.bin"), .eval = folder.path("b.bin")}));
}

TEST_CASE(
    "token files cut where samples end give the samples of the whole, in its order, shuffled as "
    "well") {
  constexpr std::int64_t T = 5;
  const ScratchFolder folder;
  const auto whole = counting(0, 12 * T + 1);
  // Each part ends with the first token of the next one, which is its last target.
  const auto part = [&](std::int64_t first, std::int64_t samples) {
    return token_file({whole.begin() + first * T, whole.begin() + (first + samples) * T + 1});
  };
  folder.write("p/00.bin", part(0, 4));
  folder.write("p/01.bin", part(4, 1));
  folder.write("p/02.bin", part(5, 7));
  const auto one = open_tokens(folder.write("whole.bin", token_file(whole)), T);
  const std::shared_ptr<const Source> parts = open_tokens(folder.path("p/*.bin"), T);
  REQUIRE(parts->samples() == 12);
  CHECK(all_samples(*parts, T) == all_samples(*one, T));
  const Order order = make_order(parts, {.seed = 3});
  const Order of_whole(12, 3, true);
  for (std::int64_t p = 0; p < 30; ++p) CHECK(order.sample_at(p) == of_whole.sample_at(p));
  REQUIRE(parts->files().size() == 3);
  CHECK(parts->files()[1].path == folder.path("p/01.bin"));
  CHECK(parts->files()[1].bytes == 1024 + 2 * (T + 1));
}

TEST_CASE(
    "each token file is cut into samples by itself: none goes over a seam, and what is left over "
    "belongs to none") {
  const ScratchFolder folder;
  const auto source =
      open_tokens(std::vector<std::string>{folder.write("a.bin", token_file(counting(0, 12))),
                                           folder.write("b.bin", token_file(counting(100, 9)))},
                  4);
  REQUIRE(source->samples() == 2 + 2);
  CHECK(read_sample(*source, 1, 4).targets == Ids{5, 6, 7, 8});
  CHECK(read_sample(*source, 2, 4).tokens == Ids{100, 101, 102, 103});
  expect_user_error(ExitCode::bad_data, {"small.bin"}, [&] {
    open_tokens(std::vector<std::string>{folder.path("a.bin"),
                                         folder.write("small.bin", token_file({1, 2}))},
                4);
  });
}

TEST_CASE("text files in a list are one stream, as those of a folder are") {
  const ScratchFolder folder;
  folder.write("in/a.txt", "the cat ");
  folder.write("in/b.txt", "sat on the mat");
  const auto open = [](const options::FileList& files) {
    return open_source(options::TextOptions{files, std::nullopt, std::nullopt}, Split::train, {4});
  };
  const auto of_folder = open(folder.path("in")), of_glob = open(folder.path("in/*.txt"));
  CHECK(all_samples(*of_glob, 4) == all_samples(*of_folder, 4));
  const auto turned =
      open(std::vector<std::string>{folder.path("in/b.txt"), folder.path("in/a.txt")});
  CHECK(read_sample(*turned, 0, 4).tokens == Ids{'s', 'a', 't', ' '});
}

TEST_CASE("labelled files follow one another; a JSON array is as good as lines") {
  const ScratchFolder folder;
  folder.write("a.jsonl", "{\"input_ids\": [1, 2]}\n{\"input_ids\": [3, 4, 5]}\n");
  folder.write("b.json", "[{\"input_ids\": [6, 7, 8, 9]},\n {\"input_ids\": [10, 11]}]");
  const auto open = [](const options::FileList& files) {
    return open_source(options::JsonlOptions{.train = files}, Split::train, {4});
  };
  const auto source = open(std::vector<std::string>{folder.path("b.json"), folder.path("a.jsonl")});
  REQUIRE(source->samples() == 4);
  CHECK(source->length(0) == 4);
  CHECK(source->length(3) == 3);
  CHECK(read_sample(*source, 1, 4).tokens == Ids{10, 11, 0, 0});
  CHECK(read_sample(*source, 3, 4).tokens == Ids{3, 4, 5, 0});
  folder.write("bad.json", "[{\"input_ids\": [1]},\n{\"input_ids\": [true]}]");
  expect_user_error(ExitCode::bad_data, {"bad.json:2:", "record 2"},
                    [&] { open(folder.path("bad.json")); });
  const auto columns = open_source(
      options::CsvOptions{
          .train = std::vector<std::string>{folder.write("x.csv", "input_ids\n1 2\n"),
                                            folder.write("y.tsv", "label\tinput_ids\n1\t3 4\n")}},
      Split::train, {4});
  REQUIRE(columns->samples() == 2);
  CHECK(read_sample(*columns, 1, 4).tokens == Ids{3, 4, 0, 0});
}

TEST_CASE("held-out samples and training samples share none, and are all there are") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const ScratchFolder folder;
  for (int round = 0; round < 20; ++round) {
    const auto samples = static_cast<std::int64_t>(2 + random() % 300);
    const std::string path =
        folder.write("t.bin", token_file(counting(0, static_cast<std::size_t>(2 * samples + 1))));
    const std::int64_t count =
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(samples - 1));
    const options::TokensOptions options{.train = path, .held_out = options::HeldOut{0, count}};
    const auto train = open_source(options, Split::train, {2}),
               eval = open_source(options, Split::eval, {2});
    REQUIRE(eval->samples() == count);
    REQUIRE(train->samples() == samples - count);
    std::vector<std::int32_t> first;
    for (const Source* side : {train.get(), eval.get()}) {
      const std::size_t before = first.size();
      for (std::int64_t i = 0; i < side->samples(); ++i)
        first.push_back(read_sample(*side, i, 2).tokens[0]);
      CHECK(std::is_sorted(first.begin() + static_cast<std::ptrdiff_t>(before),
                           first.end()));  // in the file's order
    }
    std::ranges::sort(first);
    for (std::int64_t i = 0; i < samples; ++i) REQUIRE(first[static_cast<std::size_t>(i)] == 2 * i);
  }
}

TEST_CASE("which samples are held out hangs on neither the seed nor how the files are read") {
  const ScratchFolder folder;
  const std::string path = folder.write("t.bin", token_file(counting(0, 401)));
  const auto held_out = [&](std::uint64_t seed, bool scan) {
    SourceOptions how{2};
    how.seed = seed;
    how.scan = scan;
    return all_samples(
        *open_source(options::TokensOptions{.train = path, .held_out = options::HeldOut{5, 0}},
                     Split::eval, how),
        2);
  };
  CHECK(held_out(1, true).size() == 10);
  CHECK(held_out(1, true) == held_out(2, false));
  // They lie all over the file.
  CHECK(held_out(1, true).front().first[0] < 200);
  CHECK(held_out(1, true).back().first[0] > 200);
}

TEST_CASE("shares are rounded, at least one sample; none left to train on is refused") {
  CHECK(held_out_samples({1, 0}, 1000) == 10);
  CHECK(held_out_samples({1, 0}, 20) == 1);
  CHECK(held_out_samples({0.25, 0}, 1000) == 3);  // 2.5
  CHECK(held_out_samples({0, 7}, 8) == 7);
  expect_user_error(ExitCode::invalid_recipe, {"held_out", "8"}, [] {
    held_out_samples({0, 8}, 8);
  });
  expect_user_error(ExitCode::invalid_recipe, {"held_out"}, [] { held_out_samples({1, 0}, 1); });
}

TEST_CASE("in a mixture each source holds out its own, and none trains on what another holds out") {
  const ScratchFolder folder;
  const std::string a = folder.write("a.bin", token_file(counting(0, 41))),
                    b = folder.write("b.bin", token_file(counting(1000, 21)));
  const options::MixtureOptions mixture{
      {{1, options::TokensOptions{.train = a, .held_out = options::HeldOut{10, 0}}},
       {1, options::TokensOptions{.train = b}}}};
  CHECK(open_source(mixture, Split::train, {2})->samples() == 18 + 10);
  CHECK(open_source(mixture, Split::eval, {2})->samples() == 2);
  CHECK_NOTHROW(check_files(mixture));
  for (const bool first : {true, false}) {
    const options::TokensOptions split{.train = a, .held_out = options::HeldOut{10, 0}},
        plain{.train = a};
    const options::MixtureOptions twice{{{1, first ? split : plain}, {1, first ? plain : split}}};
    expect_user_error(ExitCode::invalid_recipe, {"held_out", "a.bin"}, [&] { check_files(twice); });
  }
}

}  // namespace trainx::data::file_list_test
