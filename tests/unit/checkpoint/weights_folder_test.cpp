#include "checkpoint/weights_folder.hpp"
#include "checkpoint/weights_index.hpp"
#include "core/files.hpp"
#include "support/temporary_folder.hpp"
#include "support/golden.hpp"
#include "tensors.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <cstring>
#include <filesystem>

namespace weights_folder_test {

using namespace trainx;
using namespace trainx::checkpoint;

namespace {

const std::string index_path = std::string("/") + weights_index_name;

// What the reader says of a folder with shards a.st {x, y} and b.st {z} and this index; the
// folder's own name left out.
std::string verdict(const std::string& index) {
  const TemporaryFolder folder;
  write_safetensors(folder / "a.st", {tensor_of("x", DType::u8, {3}, bytes_from(3, 1)),
                                      tensor_of("y", DType::f32, {2}, bytes_from(8, 2))});
  write_safetensors(folder / "b.st", {tensor_of("z", DType::u8, {1}, bytes_from(1, 3))});
  write_file_atomic(folder.path() + index_path, index);
  std::string error = user_error_of([&] { WeightsFolder weights(folder.path()); });
  for (std::size_t at; (at = error.find(folder.path() + "/")) != std::string::npos;)
    error.erase(at, folder.path().size() + 1);
  return error;
}
std::string verdict_of_map(const std::string& map) {
  return verdict(R"({"metadata":{"total_size":12},"weight_map":)" + map + "}");
}

const std::string in_index = std::string("65: ") + weights_index_name + ": ";

}  // namespace

TEST_CASE("shards and one file give the same tensors by name") {
  const TemporaryFolder folder;
  CHECK_FALSE(has_weights(folder.path()));
  write_safetensors(folder / "a.st", {tensor_of("x", DType::u8, {3}, bytes_from(3, 1))});
  write_safetensors(folder / "b.st", {tensor_of("y", DType::f32, {2}, bytes_from(8, 2))});
  write_file_atomic(folder.path() + index_path,
                    weights_index_text({{"x", "a.st"}, {"y", "b.st"}}, 11));
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
  write_safetensors(folder / single_weights_name,
                    {tensor_of("only", DType::u8, {1}, bytes_from(1, 1))});
  CHECK(WeightsFolder(folder.path()).tensors().count("only") == 1);
}

TEST_CASE("a folder without weights says what it lacks") {
  const TemporaryFolder folder;
  check_error("checkpoint.weights_folder/holds_neither_model_safetensors_nor", 66,
              user_error_of([&] { WeightsFolder w(folder.path()); }));
  write_file_atomic(folder / "pytorch_model.bin", "x");
  check_sentence("checkpoint.weights_folder/pytorch_model_bin_not_read",
                 user_error_of([&] { WeightsFolder w(folder.path()); }));
  CHECK(user_error_of([&] { WeightsFolder w(folder / "none"); }).find("66: ") == 0);
}

TEST_CASE("an index may only name files beside it") {
  CHECK(verdict_of_map(R"({"x":"a.st","y":"a.st","z":"b.st"})") == "nothing thrown");
  for (const std::string file :
       {"../a.st", "/etc/passwd", "..", ".", "", "sub/a.st", "a.st\\u0000"})
    CHECK(verdict_of_map(R"({"x":"a.st","y":"a.st","z":")" + file + R"("})")
              .find(in_index + R"(tensor "z" is said to be in ")") == 0);
}

TEST_CASE("index and shards must agree, tensor by tensor") {
  check_error("checkpoint.weights_folder/c_st_missing_model_safetensors", 66,
              verdict_of_map(R"({"x":"a.st","y":"a.st","z":"c.st"})"));
  check_error("checkpoint.weights_folder/b_st_tensor_w_missing", 65,
              verdict_of_map(R"({"x":"a.st","y":"a.st","z":"b.st","w":"b.st"})"));
  check_error("checkpoint.weights_folder/st_tensor_y_but_model", 65,
              verdict_of_map(R"({"x":"a.st","z":"b.st"})"));
}

TEST_CASE("tensors of a type that is not read are passed over unless they are parameters") {
  const TemporaryFolder folder;
  const std::string header = R"({"mask":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},)"
                             R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("f":{"dtype":"F4","shape":[3,2],"data_offsets":[11,14]}})";
  const auto write = [&](const std::string& name) {
    const std::uint64_t length = header.size();
    std::string file(8, '\0');
    std::memcpy(file.data(), &length, 8);
    write_file_atomic(folder / name, file + header + std::string(14, 'd'));
  };
  const auto refused_if = [](const WeightsFolder& weights, const std::string& parameter) {
    return user_error_of(
        [&] { weights.require_read([&](const std::string& name) { return name == parameter; }); });
  };
  write(single_weights_name);
  {
    const WeightsFolder weights(folder.path());
    REQUIRE(weights.tensors().size() == 1);
    CHECK(weights.tensors().count("w") == 1);
    CHECK(refused_if(weights, "w") == "nothing thrown");
    CHECK(refused_if(weights, "mask").find("tensor \"mask\" has dtype \"BOOL\"") !=
          std::string::npos);
    CHECK(refused_if(weights, "f").find("65: ") == 0);
  }
  std::filesystem::rename(folder / single_weights_name, folder / "optimizer.safetensors");
  CHECK(user_error_of([&] { WeightsFolder w(folder.path(), "optimizer"); }).find("65: ") == 0);
  write("a.st");
  const auto with_index = [&](const WeightMap& files) {
    write_file_atomic(folder.path() + index_path, weights_index_text(files, 14));
    return user_error_of([&] { WeightsFolder w(folder.path()); });
  };
  CHECK(with_index({{"mask", "a.st"}, {"w", "a.st"}, {"f", "a.st"}}) == "nothing thrown");
  CHECK(with_index({{"w", "a.st"}, {"f", "a.st"}}).find("tensor \"mask\" is in it") !=
        std::string::npos);
}

TEST_CASE("a shard that is cut off is named") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a.st", {tensor_of("x", DType::f32, {4}, bytes_from(16, 1))});
  std::filesystem::resize_file(folder / "a.st", std::filesystem::file_size(folder / "a.st") - 1);
  write_file_atomic(folder.path() + index_path, weights_index_text({{"x", "a.st"}}, 16));
  check_error("checkpoint.weights_folder/st_file_truncated_tensor_x", 65,
              user_error_of([&] { WeightsFolder w(folder.path()); }));
}

TEST_CASE("an index of another shape is refused") {
  CHECK(verdict("").find(in_index + "not JSON at byte ") == 0);
  CHECK(verdict(R"({"weight_map":{"x":"a.st")").find(in_index + "not JSON at byte ") == 0);
  CHECK(verdict("{} x").find("65: ") == 0);
  check_error("checkpoint.weights_folder/index_there_is_no_weight_map", 65, verdict("{}"));
  check_error("checkpoint.weights_folder/index_a_number_where_an_object_with_weight", 65,
              verdict("3"));
  check_error("checkpoint.weights_folder/index_a_list_where_an_object_with_weight", 65,
              verdict("[]"));
  check_error("checkpoint.weights_folder/index_a_text_where_weight_map_must_be", 65,
              verdict(R"({"weight_map":"a.st"})"));
  check_error("checkpoint.weights_folder/index_a_number_where_the_file_of_tensor", 65,
              verdict_of_map(R"({"x":7})"));
  check_error("checkpoint.weights_folder/index_an_object_where_the_file_of_tensor", 65,
              verdict_of_map(R"({"x":{}})"));
  check_error("checkpoint.weights_folder/index_tensor_x_is_given_twice", 65,
              verdict_of_map(R"({"x":"a.st","x":"b.st"})"));
  check_error("checkpoint.weights_folder/index_weight_map_is_given_twice", 65,
              verdict(R"({"weight_map":{},"weight_map":{}})"));
  check_error("checkpoint.weights_folder/index_an_object_where_only_metadata_and_weight", 65,
              verdict(R"({"more":{}})"));
  check_error("checkpoint.weights_folder/index_a_list_where_a_plain_value_of", 65,
              verdict(R"({"metadata":{"a":[]}})"));
}

TEST_CASE("deep nesting ends in a sentence") {
  const std::string deep(100'000, '[');
  CHECK(verdict(deep).find("65: ") == 0);
  CHECK(verdict_of_map(R"({"x":)" + deep).find("65: ") == 0);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"weight_map":)";
  CHECK(verdict(objects).find("65: ") == 0);
}

}  // namespace weights_folder_test
