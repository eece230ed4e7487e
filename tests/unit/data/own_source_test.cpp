// Data sources of the user's own: samples by name, held to the rules of labelled lines.
#include "data/source.hpp"
#include "scratch_folder.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include <algorithm>
#include <functional>
#include <stdexcept>

namespace trainx::data::own_source_test {
namespace {

using trainx::Sample;
using Read = std::function<void(std::int64_t, Sample&)>;

class TestSource final : public DataSource {
 public:
  TestSource(std::int64_t length, Read read) : length_(length), read_(std::move(read)) {}
  std::int64_t length() const override { return length_; }
  std::int64_t vocab_size() const override { return 12; }
  void read(std::int64_t position, Sample& sample) const override { read_(position, sample); }

 private:
  std::int64_t length_;
  Read read_;
};

std::unique_ptr<Source> open(Read read, const SourceOptions& how, std::int64_t length = 3,
                             Split split = Split::train) {
  return open_source(
      options::OwnDataOptions{
          "own",
          "",
          {},
          [=](const auto&, DataSplit which) -> std::shared_ptr<const DataSource> {
            if (which == DataSplit::eval) return nullptr;
            return std::make_shared<TestSource>(length, read);
          }},
      split, how);
}

SourceOptions fields_alone() {
  SourceOptions how;
  how.sequence_length = 1;
  how.fields = {{"image", DType::f32, {2, 2}}, {"label", DType::i64, {}}};
  how.reads_tokens = false;
  return how;
}

struct Row {
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(6),
                            targets = std::vector<std::int32_t>(6, no_target),
                            length = std::vector<std::int32_t>(1);
  bool operator==(const Row&) const = default;
};
Row row_of(const Source& source, std::int64_t index) {
  Row row;
  source.read(index, {.tokens = row.tokens, .targets = row.targets, .length = row.length});
  return row;
}

}  // namespace

TEST_CASE("fields of an own source are taken by name, in the types that the model reads") {
  const auto source = open(
      [](std::int64_t position, Sample& sample) {
        sample.put("label", position + 9007199254740990);
        if (position == 0)
          sample.put("image", std::vector<double>{1, 2.5, 3, -4});
        else
          sample.put("image", std::vector<std::int64_t>{1, 2, 3, position});
        sample.put("other", 1.0);  // nobody reads it
      },
      fields_alone());
  CHECK(source->samples() == 3);
  CHECK(source->length(1) == 1);
  for (const std::int64_t index : {0, 2}) {
    std::vector<float> image(4);
    std::vector<std::int64_t> label(1);
    source->read(index, {.fields = {std::as_writable_bytes(std::span(image)),
                                    std::as_writable_bytes(std::span(label))}});
    CHECK(image ==
          (index == 0 ? std::vector<float>{1, 2.5F, 3, -4} : std::vector<float>{1, 2, 3, 2}));
    CHECK(label[0] == index + 9007199254740990);
  }
}

TEST_CASE("tokens of an own source are those of the same lines") {
  const ScratchFolder folder;
  const std::string path = folder.write(
      "a.jsonl",
      "{\"input_ids\": [1, 2, 3]}\n{\"input_ids\": [4, 5, 6, 7], \"labels\": [1, -100, 3, 4]}\n"
      "{\"input_ids\": [11]}\n");
  const std::vector<std::vector<std::int64_t>> ids{{1, 2, 3}, {4, 5, 6, 7}, {11}};
  SourceOptions how;
  how.sequence_length = 6;
  how.vocab_limit = 12;
  const auto lines = open_source(options::JsonlOptions{path}, Split::train, how);
  const auto own = open(
      [&](std::int64_t position, Sample& sample) {
        sample.put("input_ids", ids.at(static_cast<std::size_t>(position)));
        if (position == 1) sample.put("labels", std::vector<std::int64_t>{1, -100, 3, 4});
      },
      how);
  CHECK(own->vocab_size() == 12);
  for (const std::int64_t index : {0, 1, 2}) {
    CHECK(own->length(index) == lines->length(index));
    CHECK(row_of(*own, index) == row_of(*lines, index));
  }
}

TEST_CASE("a sample that is wrong is told with source and position") {
  const auto told = [](SourceOptions how, const Read& read) {
    how.scan = false;  // when it is read
    return user_error_of([&] {
      const auto source = open(read, how);
      std::vector<float> image(4);
      std::vector<std::int64_t> label(1);
      Row row;
      source->read(2, {.tokens = row.tokens,
                       .targets = row.targets,
                       .length = row.length,
                       .fields = {std::as_writable_bytes(std::span(image)),
                                  std::as_writable_bytes(std::span(label))}});
    });
  };
  const std::vector<double> image{1, 2, 3, 4};
  const std::vector<std::pair<Read, std::string>> wrong{
      {[&](auto, Sample& s) { s.put("image", image); }, "label"},
      {[&](auto, Sample& s) { s.put("image", 1.0), s.put("label", std::int64_t{1}); }, "4"},
      {[&](auto, Sample& s) { s.put("image", image), s.put("label", 0.5); }, "label"},
      {[&](auto, Sample& s) {
         s.put("image", std::vector<double>{1, 2, 3, 1e300}), s.put("label", std::int64_t{1});
       },
       "fp32"},
      {[](auto, Sample&) { throw std::runtime_error("no such image"); }, "no such image"}};
  for (const auto& [read, part] : wrong) {
    const std::string said = told(fields_alone(), read);
    INFO(said);
    CHECK(said.starts_with("65: own (train):2: "));
    CHECK(said.find(part) != std::string::npos);
  }
  SourceOptions how;
  how.sequence_length = 6;
  how.vocab_limit = 12;
  for (const std::vector<std::int64_t>& ids :
       std::vector<std::vector<std::int64_t>>{{}, {1, 12}, {-1}, {1, 2, 3, 4, 5, 6, 7}}) {
    const std::string said = told(how, [&](auto, Sample& s) { s.put("input_ids", ids); });
    INFO(said);
    CHECK(said.starts_with("65: own (train):2: "));
    CHECK(said.find("truncate") == std::string::npos);  // an option that it does not have
  }
}

TEST_CASE("samples all over an own source are looked at before training") {
  SourceOptions how;
  how.sequence_length = 6;
  how.vocab_limit = 12;
  std::vector<std::int64_t> seen;
  const auto opened = [&](std::int64_t length, auto is_wrong) {
    seen.clear();
    return user_error_of([&] {
      open(
          [&](std::int64_t position, Sample& sample) {
            seen.push_back(position);
            sample.put("input_ids", std::vector<std::int64_t>{is_wrong(position) ? 99 : 1, 2});
          },
          how, length);
    });
  };
  const auto none = [](auto) { return false; };
  for (const std::int64_t length : {1, 2, 999, 1000}) {
    CHECK(opened(length, none) == "nothing thrown");
    std::ranges::sort(seen);
    CHECK(static_cast<std::int64_t>(seen.size()) == length);
    CHECK(std::ranges::adjacent_find(seen) == seen.end());
  }
  CHECK(opened(1'000'000'000'000, none) == "nothing thrown");
  CHECK(seen.size() == 1000);
  CHECK(std::ranges::max(seen) > 990'000'000'000);
  // Those that are wrong are told together.
  const std::string said = opened(50, [](std::int64_t i) { return i == 7 || i == 49; });
  CHECK(said.starts_with("65: own (train):7: "));
  CHECK(said.find("own (train):49: ") != std::string::npos);
  CHECK(opened(50, [](auto) { return true; }).find("more") != std::string::npos);
  how.scan = false;
  CHECK(opened(50, [](auto) { return true; }) == "nothing thrown");
  CHECK(seen.empty());
}

TEST_CASE("a split may be missing, but not that to train on, nor be empty") {
  const Read nothing = [](auto, Sample&) {};
  CHECK(open(nothing, fields_alone(), 3, Split::eval) == nullptr);
  CHECK(user_error_of([&] { open(nothing, fields_alone(), 0); }).starts_with("65: "));
  const options::OwnDataOptions none{
      "own", "", {}, [](const auto&, auto) { return std::shared_ptr<const DataSource>(); }};
  CHECK(
      user_error_of([&] { open_source(none, Split::train, fields_alone()); }).starts_with("65: "));
  const options::OwnDataOptions fails{
      "own", "", {}, [](const auto&, auto) -> std::shared_ptr<const DataSource> {
        throw std::runtime_error("no folder");
      }};
  const std::string said = user_error_of([&] { open_source(fails, Split::train, fields_alone()); });
  CHECK(said.starts_with("65: "));
  CHECK(said.find("no folder") != std::string::npos);
}

}  // namespace trainx::data::own_source_test
