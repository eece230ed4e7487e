#include "data/target_check.hpp"
#include "expect_user_error.hpp"
#include "scratch_folder.hpp"
#include <set>

namespace trainx::data::target_check_test {
namespace {

SourceOptions how(Targets targets = Targets::next_token, bool scan = true) {
  SourceOptions options;
  options.sequence_length = 4;
  options.target_length = 2;
  options.targets = targets;
  options.scan = scan;
  return options;
}

constexpr const char* learned = "{\"input_ids\": [1, 2, 3], \"labels\": [-100, -100, 3]}\n";
constexpr const char* not_learned = "{\"input_ids\": [1, 2, 3], \"labels\": [-100, -100, -100]}\n";

std::unique_ptr<Source> open_lines(const std::string& path, bool truncate = false,
                                   const SourceOptions& options = how(), bool packed = false) {
  return open_source(options::JsonlOptions{path, std::nullopt, truncate, packed}, Split::train,
                     options);
}

}  // namespace

TEST_CASE("a set without a target is refused, whatever took its targets") {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text, const SourceOptions& options = how(),
                           bool packed = false) {
    INFO(text);
    const auto source = open_lines(folder.write("a.jsonl", text), true, options, packed);
    expect_user_error(ExitCode::bad_data, {"a.jsonl", "no target"},
                      [&] { check_targets(*source, Split::train); });
    expect_user_error(ExitCode::bad_data, {"a.jsonl", "no target", "held-out"},
                      [&] { check_targets(*source, Split::eval); });
  };
  refused(std::string(not_learned) + not_learned);
  refused("{\"input_ids\": [5]}\n{\"input_ids\": [6]}\n");
  refused("{\"input_ids\": [5, 6], \"labels\": [5, -100]}\n");
  refused("{\"input_ids\": [1, 2, 3, 4, 5], \"labels\": [-100, -100, -100, -100, 5]}\n");
  refused("{\"input_ids\": [1, 2], \"loss_mask\": [1, 0]}\n");
  refused("{\"input_ids\": [1, 2, 3], \"document_lengths\": [1, 1, 1]}\n", how(), true);
  refused("{\"input_ids\": [1, 2], \"labels\": [-100, -100]}\n", how(Targets::token_class));
  refused("{\"input_ids\": [1, 2], \"labels\": [-100, -100]}\n", how(Targets::own_token));
  refused("{\"input_ids\": [1, 2], \"labels\": [-100, -100, 7]}\n", how(Targets::another_text));
  refused(not_learned, how(Targets::next_token, false));
}

TEST_CASE("samples without a target and those that are cut are counted by file") {
  const ScratchFolder folder;
  folder.write("a.jsonl", std::string(learned) + not_learned + not_learned);
  folder.write("b.jsonl", std::string(learned) + "{\"input_ids\": [1, 2, 3, 4, 5, 6]}\n");
  for (const bool scan : {true, false}) {
    const auto source = open_lines(folder.path("?.jsonl"), true, how(Targets::next_token, scan));
    const auto found = source->findings([](std::int64_t) { return true; });
    REQUIRE(found.size() == 2);
    CHECK(found[0].samples == 3);
    CHECK(found[0].without_target == 2);
    CHECK(found[0].cut == 0);
    CHECK(found[1].samples == 2);
    CHECK(found[1].without_target == 0);
    CHECK(found[1].cut == 1);
    CHECK(check_targets(*source, Split::train).size() == 2);
  }
  CHECK(check_targets(*open_lines(folder.write("c.jsonl", learned)), Split::train).empty());
  // classes are always learned, masks are drawn where there are no labels
  const auto drawn = open_lines(folder.write("d.jsonl", "{\"input_ids\": [1, 2]}\n"), false,
                                how(Targets::own_token));
  CHECK(check_targets(*drawn, Split::train).empty());
}

TEST_CASE("of data that is partly held out each side is counted by itself") {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 50; ++i) text += i % 2 ? learned : not_learned;
  options::JsonlOptions options{folder.write("a.jsonl", text), std::nullopt, false};
  options.held_out = options::HeldOut{0, 20};
  std::int64_t samples = 0, without = 0;
  for (const Split split : {Split::train, Split::eval}) {
    const auto source = open_source(options, split, how());
    const auto found = source->findings([](std::int64_t) { return true; });
    REQUIRE(found.size() == 1);
    CHECK(found[0].samples == source->samples());
    samples += found[0].samples;
    without += found[0].without_target;
    const auto first = source->findings([](std::int64_t index) { return index == 0; });
    CHECK(first[0].samples == 1);
  }
  CHECK(samples == 50);
  CHECK(without == 25);
}

TEST_CASE("of a mixture each source's samples are counted by where they stand in the whole") {
  const ScratchFolder folder;
  const auto source_of = [&](const std::string& name, const std::string& lines) {
    return options::MixtureEntry{
        1, options::JsonlOptions{folder.write(name, lines), std::nullopt, false}};
  };
  const std::string one = learned, none = not_learned;
  const options::MixtureOptions options{{source_of("a.jsonl", one + none),
                                         source_of("b.jsonl", none + none + one),
                                         source_of("c.jsonl", none + one)}};
  const auto source = open_source(options, Split::train, how());
  REQUIRE(source->samples() == 7);
  // the last of a, the first and the last of b, the first of c
  const std::set<std::int64_t> chosen{1, 2, 4, 5};
  const auto found = source->findings([&](std::int64_t index) { return chosen.contains(index); });
  REQUIRE(found.size() == 3);
  std::vector<std::pair<std::int64_t, std::int64_t>> counts;
  for (const FileFindings& file : found) counts.emplace_back(file.samples, file.without_target);
  CHECK(counts == std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 1}, {1, 1}});
}

TEST_CASE("text and tokens always have targets") {
  const ScratchFolder folder;
  const options::TextOptions text{folder.write("a.txt", "abcdefghijkl"), std::nullopt,
                                  std::nullopt};
  CHECK(check_targets(*open_source(text, Split::train, how()), Split::train).empty());
}

}  // namespace trainx::data::target_check_test
