#include "checkpoint/weights_folder.hpp"
#include "checkpoint/weights_index.hpp"
#include "core/files.hpp"
#include "support/temporary_folder.hpp"
#include "support/user_error.hpp"
#include "tensors.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <filesystem>

using namespace trainx;
using namespace trainx::checkpoint;

namespace {

const std::string index_path = std::string("/") + weights_index_name;

// What the reader says of a folder with shards a.st {x, y} and b.st {z} and this index; the folder's own name left out.
std::string verdict(const std::string& index) {
  const TemporaryFolder folder;
  write_safetensors(folder / "a.st", {tensor_of("x", DType::u8, {3}, bytes_from(3, 1)), tensor_of("y", DType::f32, {2}, bytes_from(8, 2))});
  write_safetensors(folder / "b.st", {tensor_of("z", DType::u8, {1}, bytes_from(1, 3))});
  write_file_atomic(folder.path() + index_path, index);
  std::string error = user_error_of([&] { WeightsFolder weights(folder.path()); });
  for (std::size_t at; (at = error.find(folder.path() + "/")) != std::string::npos;) error.erase(at, folder.path().size() + 1);
  return error;
}
std::string verdict_of_map(const std::string& map) { return verdict(R"({"metadata":{"total_size":12},"weight_map":)" + map + "}"); }

const std::string in_index = std::string("65: ") + weights_index_name + ": ";

}  // namespace

TEST_CASE("shards and one file give the same tensors by name") {
  const TemporaryFolder folder;
  CHECK_FALSE(has_weights(folder.path()));
  write_safetensors(folder / "a.st", {tensor_of("x", DType::u8, {3}, bytes_from(3, 1))});
  write_safetensors(folder / "b.st", {tensor_of("y", DType::f32, {2}, bytes_from(8, 2))});
  write_file_atomic(folder.path() + index_path, weights_index_text({{"x", "a.st"}, {"y", "b.st"}}, 11));
  CHECK(has_weights(folder.path()));
  {
    const WeightsFolder weights(folder.path());
    REQUIRE(weights.tensors().size() == 2);
    const auto& y = weights.tensors().at("y");
    CHECK(y.file == (folder / "b.st"));
    CHECK(y.entry->dims == std::vector<std::int64_t>{2});
    CHECK(std::ranges::equal(y.entry->data, bytes_from(8, 2)));
    CHECK(std::ranges::equal(weights.tensors().at("x").entry->data, bytes_from(3, 1)));
  }
  // Both: the one file, as transformers does.
  write_safetensors(folder / single_weights_name, {tensor_of("only", DType::u8, {1}, bytes_from(1, 1))});
  CHECK(WeightsFolder(folder.path()).tensors().count("only") == 1);
}

TEST_CASE("a folder without weights says what it lacks") {
  const TemporaryFolder folder;
  CHECK(user_error_of([&] { WeightsFolder w(folder.path()); }) ==
        "66: " + folder.path() + " holds neither model.safetensors nor model.safetensors.index.json; give the folder of a saved model");
  write_file_atomic(folder / "pytorch_model.bin", "x");
  CHECK(user_error_of([&] { WeightsFolder w(folder.path()); }).find("pytorch_model.bin is not read") != std::string::npos);
  CHECK(user_error_of([&] { WeightsFolder w(folder / "none"); }).find("66: ") == 0);
}

TEST_CASE("an index may only name files beside it") {
  CHECK(verdict_of_map(R"({"x":"a.st","y":"a.st","z":"b.st"})") == "nothing thrown");
  for (const std::string file : {"../a.st", "/etc/passwd", "..", ".", "", "sub/a.st", "a.st\\u0000"})
    CHECK(verdict_of_map(R"({"x":"a.st","y":"a.st","z":")" + file + R"("})").find(in_index + R"(tensor "z" is said to be in ")") == 0);
}

TEST_CASE("index and shards must agree, tensor by tensor") {
  CHECK(verdict_of_map(R"({"x":"a.st","y":"a.st","z":"c.st"})") == R"(66: c.st is missing; model.safetensors.index.json says that tensor "z" is in it)");
  CHECK(verdict_of_map(R"({"x":"a.st","y":"a.st","z":"b.st","w":"b.st"})") == R"(65: b.st: tensor "w" is missing, which model.safetensors.index.json says is in it)");
  CHECK(verdict_of_map(R"({"x":"a.st","z":"b.st"})") == R"(65: a.st: tensor "y" is in it, but model.safetensors.index.json does not name it)");
}

TEST_CASE("a shard that is cut off is named") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a.st", {tensor_of("x", DType::f32, {4}, bytes_from(16, 1))});
  std::filesystem::resize_file(folder / "a.st", std::filesystem::file_size(folder / "a.st") - 1);
  write_file_atomic(folder.path() + index_path, weights_index_text({{"x", "a.st"}}, 16));
  CHECK(user_error_of([&] { WeightsFolder w(folder.path()); }).find("65: " + (folder / "a.st") + ": the file is truncated: tensor \"x\"") == 0);
}

TEST_CASE("an index of another shape is refused") {
  CHECK(verdict("").find(in_index + "not JSON at byte ") == 0);
  CHECK(verdict(R"({"weight_map":{"x":"a.st")").find(in_index + "not JSON at byte ") == 0);
  CHECK(verdict("{} x").find("65: ") == 0);
  CHECK(verdict("{}") == in_index + "there is no \"weight_map\"");
  CHECK(verdict("3") == in_index + "a number where an object with \"weight_map\" belongs");
  CHECK(verdict("[]") == in_index + "a list where an object with \"weight_map\" belongs");
  CHECK(verdict(R"({"weight_map":"a.st"})") == in_index + "a text where \"weight_map\" must be an object");
  CHECK(verdict_of_map(R"({"x":7})") == in_index + "a number where the file of tensor \"x\" belongs");
  CHECK(verdict_of_map(R"({"x":{}})") == in_index + "an object where the file of tensor \"x\" belongs");
  CHECK(verdict_of_map(R"({"x":"a.st","x":"b.st"})") == in_index + "tensor \"x\" is given twice");
  CHECK(verdict(R"({"weight_map":{},"weight_map":{}})") == in_index + "\"weight_map\" is given twice");
  CHECK(verdict(R"({"more":{}})") == in_index + "an object where only \"metadata\" and \"weight_map\" belong, not \"more\"");
  CHECK(verdict(R"({"metadata":{"a":[]}})") == in_index + "a list where a plain value of \"a\" belongs");
}

TEST_CASE("deep nesting ends in a sentence") {
  const std::string deep(100'000, '[');
  CHECK(verdict(deep).find("65: ") == 0);
  CHECK(verdict_of_map(R"({"x":)" + deep).find("65: ") == 0);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"weight_map":)";
  CHECK(verdict(objects).find("65: ") == 0);
}
