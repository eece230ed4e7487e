// Fields of a model of the user's own in jsonl lines: read as declared, or refused with file and
// line; through the loader to a batch.
#include "data/loader.hpp"
#include "data/source.hpp"
#include "expect_user_error.hpp"
#include "scratch_folder.hpp"
#include <cstring>

namespace trainx::data::own_fields_test {
namespace {

SourceOptions fields_alone() {
  SourceOptions how;
  how.sequence_length = 1;
  how.fields = {{"image", DType::f32, {2, 3}}, {"label", DType::i64, {}}};
  how.reads_tokens = false;
  return how;
}

std::unique_ptr<Source> open_lines(const std::string& path, const SourceOptions& how) {
  return open_source(options::JsonlOptions{path}, Split::train, how);
}

template <class T>
std::vector<T> read_field(const Source& source, std::int64_t index, std::size_t field) {
  std::vector<float> image(6);
  std::vector<std::int64_t> label(1);
  source.read(index, {.fields = {std::as_writable_bytes(std::span(image)),
                                 std::as_writable_bytes(std::span(label))}});
  if constexpr (std::is_same_v<T, float>)
    return field == 0 ? image : std::vector<T>{};
  else
    return field == 1 ? label : std::vector<T>{};
}

}  // namespace

TEST_CASE("own fields are numbers, flat lists, or lists nested as declared") {
  const ScratchFolder folder;
  const std::string path =
      folder.write("a.jsonl",
                   "{\"image\": [1, 2.5, 3, 4, 5, -6], \"label\": 2, \"other\": {\"label\": [1]}}\n"
                   "{\"label\": 9007199254740993, \"image\": [[0, 1, 2], [3, 4, 1e-3]]}\n");
  const auto source = open_lines(path, fields_alone());
  CHECK(source->samples() == 2);
  CHECK(source->length(1) == 1);
  CHECK(read_field<float>(*source, 0, 0) == std::vector<float>{1, 2.5F, 3, 4, 5, -6});
  CHECK(read_field<float>(*source, 1, 0) == std::vector<float>{0, 1, 2, 3, 4, 1e-3F});
  CHECK(read_field<std::int64_t>(*source, 0, 1) == std::vector<std::int64_t>{2});
  CHECK(read_field<std::int64_t>(*source, 1, 1) == std::vector<std::int64_t>{9007199254740993});
}

TEST_CASE("an own field of another shape or type is refused with file and line") {
  const ScratchFolder folder;
  const std::string good = "{\"image\": [1, 2, 3, 4, 5, 6], \"label\": 2}\n";
  for (const auto& [line, says] : std::vector<std::pair<std::string, std::string>>{
           {R"({"image": [1, 2, 3, 4, 5, 6]})", "has no label"},
           {R"({"image": null, "label": 1})", "holds null"},
           {R"({"image": [1, 2, 3, 4, 5], "label": 1})", "image has 5 entries"},
           {R"({"image": [[1, 2], [3, 4], [5, 6]], "label": 1})", "image has 2 entries"},
           {R"({"image": [[1, 2, 3]], "label": 1})", "image has 1 entries"},
           {R"({"image": [[1, 2, 3], 4], "label": 1})", "numbers and lists"},
           {R"({"image": [[[1, 2, 3]]], "label": 1})", "shape [2, 3]"},
           {R"({"image": [], "label": 1})", "image has 0 entries"},
           {R"({"image": 1, "label": 1})", "list of 6"},
           {R"({"image": [1, 2, 3, 4, 5, "6"], "label": 1})", "holds text"},
           {R"({"image": [1, 2, 3, 4, 5, 1e39], "label": 1})", "fp32"},
           {R"({"image": [1, 2, 3, 4, 5, 6], "label": 1.5})", "a number"},
           {R"({"image": [1, 2, 3, 4, 5, 6], "label": [1]})", "a list"},
           {R"({"image": [1, 2, 3, 4, 5, 6], "label": {}})", "an object"},
           {R"({"image": [1, 2, 3, 4, 5, 6], "label": 1, "label": 2})", "twice"}}) {
    INFO(line);
    const std::string path = folder.write("bad.jsonl", good + line + "\n");
    expect_user_error(ExitCode::bad_data, {"bad.jsonl:2", says},
                      [&] { open_lines(path, fields_alone()); });
  }
}

TEST_CASE("only jsonl has own fields") {
  expect_user_error(ExitCode::bad_data, {"stories", "jsonl"},
                    [] { open_source(options::StoriesOptions{}, Split::train, fields_alone()); });
}

TEST_CASE("tokens stand beside own fields") {
  const ScratchFolder folder;
  const std::string path = folder.write("t.jsonl",
                                        "{\"input_ids\": [3, 4, 5], \"weight\": 0.5}\n"
                                        "{\"input_ids\": [6, 7], \"weight\": 2}\n");
  SourceOptions how;
  how.sequence_length = 4;
  how.fields = {{"weight", DType::f32, {}}};
  const auto source = open_lines(path, how);
  CHECK(source->length(0) == 3);
  std::vector<std::int32_t> tokens(4), targets(4, no_target);
  std::vector<float> weight(1);
  source->read(1, {.tokens = tokens,
                   .targets = targets,
                   .fields = {std::as_writable_bytes(std::span(weight))}});
  CHECK(tokens == std::vector<std::int32_t>{6, 7, 0, 0});
  CHECK(weight.front() == 2);
  how.vocab_limit = 5;
  expect_user_error(ExitCode::bad_data, {"t.jsonl:1", "vocabulary"},
                    [&] { open_lines(path, how); });
}

TEST_CASE("a loader hands out own fields of all samples of a micro-batch, in order") {
  const ScratchFolder folder;
  std::string lines;
  for (int i = 0; i < 6; ++i)
    lines += "{\"image\": [" + std::to_string(i) +
             ", 0, 0, 0, 0, 1], \"label\": " + std::to_string(10 * i) + "}\n";
  const SourceOptions how = fields_alone();
  LoaderOptions options;
  options.global_batch_size = 4, options.micro_batch_size = 2;
  options.row_lengths = {1};
  options.fields = how.fields;
  options.last_step = GENERATE(-1, 0);  // 0: nothing is prepared ahead
  Loader loader(open_lines(folder.write("l.jsonl", lines), how), Order(6, 1, false), options);
  std::vector<std::int64_t> positions(2), labels(2, -1);
  std::vector<float> images(12, -1);
  BatchView out{.tokens = {}, .targets = {}, .positions = positions};
  out.fields = {std::as_writable_bytes(std::span(images)),
                std::as_writable_bytes(std::span(labels))};
  loader.fetch(0, 1, out);
  CHECK(labels == std::vector<std::int64_t>{20, 30});
  CHECK(images == std::vector<float>{2, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 1});
  CHECK(positions == std::vector<std::int64_t>{2, 3});
  out.fields.pop_back();
  CHECK_THROWS_AS(loader.fetch(0, 0, out), InternalError);
}

}  // namespace trainx::data::own_fields_test
