#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "support/temporary_folder.hpp"
#include "support/golden.hpp"
#include "support/catch.hpp"
#include <cstring>

namespace safetensors_header_test {

using namespace trainx;
using namespace trainx::checkpoint;

namespace {

// What the reader says of a file with this header and so many bytes of data; the file's own name
// left out.
std::string verdict(const std::string& header, std::size_t data_bytes, std::uint64_t length) {
  const TemporaryFolder folder;
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  write_file_atomic(folder / "t", file + header + std::string(data_bytes, 'd'));
  std::string error = user_error_of([&] { SafetensorsReader reader(folder / "t"); });
  if (const auto at = error.find(folder / "t"); at != std::string::npos)
    error.erase(at, (folder / "t: ").size());
  return error;
}
std::string verdict(const std::string& header, std::size_t data_bytes) {
  return verdict(header, data_bytes, header.size());
}

}  // namespace

TEST_CASE("sound headers are read") {
  CHECK(verdict("{}", 0) == "nothing thrown");
  CHECK(verdict("{}   \n ", 0) == "nothing thrown");
  CHECK(verdict(R"({"a":{"data_offsets":[0,8],"shape":[2],"dtype":"F32"}})", 8) ==
        "nothing thrown");
  CHECK(
      verdict(
          R"({"b":{"dtype":"U8","shape":[],"data_offsets":[4,5]},"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"__metadata__":{}})",
          5) == "nothing thrown");
  CHECK(
      verdict(
          R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          4) == "nothing thrown");
  // An empty shape stays empty however large its other sizes are.
  CHECK(
      verdict(
          R"({"z":{"dtype":"F32","shape":[9000000000000000000,9000000000000000000,0],"data_offsets":[0,0]}})",
          0) == "nothing thrown");
}

TEST_CASE("a file that is too short or no safetensors file") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "t", "");
  check_error("checkpoint.safetensors_header/file_truncated_bytes_not_even", 65,
              user_error_of([&] { SafetensorsReader r(folder / "t"); }));
  write_file_atomic(folder / "t", "1234567");
  check_error("checkpoint.safetensors_header/file_truncated_bytes_not_even_2", 65,
              user_error_of([&] { SafetensorsReader r(folder / "t"); }));
  check_error("checkpoint.safetensors_header/file_truncated_header_bytes_file", 65,
              verdict("{}", 0, 3));
  check_error("checkpoint.safetensors_header/header_bytes_more_than_format", 65,
              verdict("{}", 0, 100'000'001));
  check_error("checkpoint.safetensors_header/header_bytes_more_than_format_2", 65,
              verdict("{}", 0, ~0ull));
  check_error("checkpoint.safetensors_header/header_does_not_begin_this", 65, verdict("", 0));
  check_error("checkpoint.safetensors_header/header_does_not_begin_this", 65, verdict(" {}", 0));
  check_error("checkpoint.safetensors_header/header_does_not_begin_this", 65, verdict("[1]", 0));
}

TEST_CASE("a header that is not JSON is refused with its place") {
  check_error("checkpoint.safetensors_header/header_not_json_near", 65, verdict(R"({"a":)", 0));
  check_error("checkpoint.safetensors_header/header_not_json_x_near", 65, verdict(R"({} x)", 0));
  check_error("checkpoint.safetensors_header/header_not_json", 65, verdict("{\"\xff\":{}}", 0));
  check_error("checkpoint.safetensors_header/header_not_json_2", 65,
              verdict(std::string("{\"a\0\":{}}", 9), 0));
}

TEST_CASE("what follows a header is refused, but for a little padding") {
  CHECK(verdict("{}" + std::string(1000, ' '), 0) == "nothing thrown");
  check_error("checkpoint.safetensors_header/header_goes_on_behind_nul", 65,
              verdict("{}" + std::string(1, '\0') + " noise", 0));
  check_error("checkpoint.safetensors_header/blanks_follow_header", 65,
              verdict("{}" + std::string(100'000, ' '), 0));
}

TEST_CASE("names and numbers of tensors that no model has are refused") {
  const auto empty = [](const std::string& name) {
    return "\"" + name + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  };
  CHECK(verdict("{" + empty(std::string(1000, 'n')) + "}", 0) == "nothing thrown");
  check_error("checkpoint.safetensors_header/name_has_bytes_more_than", 65,
              verdict("{" + empty(std::string(1'000'000, 'n')) + "}", 0));
  std::string many = "{";
  for (int i = 0; i < 300'000; ++i) many += (i ? "," : "") + empty(std::to_string(i));
  check_error("checkpoint.safetensors_header/file_has_more_than_tensors", 65,
              verdict(many + "}", 0));
}

TEST_CASE("a header of another shape is refused with tensor and place") {
  check_error("checkpoint.safetensors_header/number_where_description_tensor_belongs", 65,
              verdict(R"({"a":1})", 0));
  check_error("checkpoint.safetensors_header/null_where_description_tensor_belongs", 65,
              verdict(R"({"a":null})", 0));
  check_error("checkpoint.safetensors_header/list_where_description_tensor_belongs", 65,
              verdict(R"({"a":[]})", 0));
  check_error("checkpoint.safetensors_header/tensor_no_dtype", 65, verdict(R"({"a":{}})", 0));
  check_error("checkpoint.safetensors_header/tensor_no_shape", 65,
              verdict(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4));
  check_error("checkpoint.safetensors_header/tensor_no_data_offsets", 65,
              verdict(R"({"a":{"dtype":"F32","shape":[1]}})", 4));
  CHECK(
      verdict(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1)
          .find(
              R"(65: tensor "a" has dtype "F8_E4M3", which trainx does not read (it reads F64, F32, F16, BF16, I64, I32, I16, U16, U8))") ==
      0);
  check_error("checkpoint.safetensors_header/number_where_dtype_tensor_belongs", 65,
              verdict(R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,1]}})", 1));
  check_error("checkpoint.safetensors_header/text_where_shape_tensor_belongs", 65,
              verdict(R"({"a":{"dtype":"U8","shape":"1","data_offsets":[0,1]}})", 1));
  check_error("checkpoint.safetensors_header/list_where_dtype_tensor_belongs", 65,
              verdict(R"({"a":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}})", 1));
  check_error("checkpoint.safetensors_header/negative_number_where_size_tensor", 65,
              verdict(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1));
  check_error("checkpoint.safetensors_header/number_where_size_tensor_belongs", 65,
              verdict(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1));
  check_error("checkpoint.safetensors_header/truth_value_where_size_tensor", 65,
              verdict(R"({"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}})", 1));
  check_error(
      "checkpoint.safetensors_header/number_where_size", 65,
      verdict(R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]}})", 1));
  check_error("checkpoint.safetensors_header/list_where_size_tensor_belongs", 65,
              verdict(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1));
  check_error("checkpoint.safetensors_header/tensor_data_offsets_instead", 65,
              verdict(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1));
  check_error("checkpoint.safetensors_header/tensor_extra_format_does_not", 65,
              verdict(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"extra":1}})", 1));
  check_error("checkpoint.safetensors_header/number_where_metadata_k_must", 65,
              verdict(R"({"__metadata__":{"k":1}})", 0));
  check_error("checkpoint.safetensors_header/text_k_where_metadata_belongs", 65,
              verdict(R"({"__metadata__":"k"})", 0));
  check_error("checkpoint.safetensors_header/list_where_description_tensor_belongs_2", 65,
              verdict(std::string(R"({"a":)") + std::string(1'000'000, '['), 0));
  check_error("checkpoint.safetensors_header/list_where_size_tensor_belongs_2", 65,
              verdict(R"({"a":{"dtype":"U8","shape":)" + std::string(1'000'000, '['), 0));
}

TEST_CASE("equal names are refused, wherever they are") {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  check_error("checkpoint.safetensors_header/tensor_described_twice", 65,
              verdict("{" + a + "," + a + "}", 0));
  check_error("checkpoint.safetensors_header/dtype_given_twice", 65,
              verdict(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0));
  check_error("checkpoint.safetensors_header/k_given_twice_metadata", 65,
              verdict(R"({"__metadata__":{"k":"1","k":"2"}})", 0));
  check_error("checkpoint.safetensors_header/metadata_described_twice", 65,
              verdict(R"({"__metadata__":{},"__metadata__":{}})", 0));
  check_error("checkpoint.safetensors_header/tensor_described_twice_2", 65,
              verdict("{" + a + R"(,"\u0061":{}})", 0));
}

TEST_CASE("every byte of the data belongs to exactly one tensor") {
  const auto tensor = [](const std::string& name, const std::string& shape, long begin, long end) {
    return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  const std::string a = "{" + tensor("a", "[2]", 0, 8) + ",";
  const auto start = [](const std::string& header) {
    return "(data at byte " + std::to_string(8 + header.size()) + " + ";
  };
  std::string h = a + tensor("b", "[1]", 4, 8) + "}";
  CHECK(verdict(h, 8).find(start(h) + "4)") != std::string::npos);
  check_error("checkpoint.safetensors_header/tensor_b_overlaps_one_before", 65, verdict(h, 8));
  h = a + tensor("b", "[1]", 12, 16) + "}";
  CHECK(verdict(h, 16).find(start(h) + "12)") != std::string::npos);
  check_error("checkpoint.safetensors_header/bytes_before_tensor_b_belong", 65, verdict(h, 16));
  h = "{" + tensor("a", "[1]", 4, 8) + "}";
  CHECK(verdict(h, 8).find(start(h) + "4)") != std::string::npos);
  check_error("checkpoint.safetensors_header/bytes_before_tensor_belong_no", 65, verdict(h, 8));
  h = a + tensor("b", "[1]", 8, 12) + "}";
  CHECK(verdict(h, 11).find(start(h) + "8)") != std::string::npos);
  check_error("checkpoint.safetensors_header/file_truncated_tensor_b_ends", 65, verdict(h, 11));
  check_error("checkpoint.safetensors_header/bytes_after_last_tensor_belong", 65, verdict(h, 15));
  h = "{" + tensor("a", "[3]", 0, 8) + "}";
  CHECK(verdict(h, 8).find(start(h) + "0)") != std::string::npos);
  check_error("checkpoint.safetensors_header/tensor_takes_bytes_by_dtype", 65, verdict(h, 8));
  h = "{" + tensor("a", "[1]", 8, 4) + "}";
  CHECK(verdict(h, 8).find(start(h) + "8)") != std::string::npos);
  check_error("checkpoint.safetensors_header/tensor_ends_before_begins", 65, verdict(h, 8));
  h = "{" + tensor("a", "[4294967296,4294967296]", 0, 0) + "}";  // 2^66 bytes: 0 where it wraps
  CHECK(verdict(h, 0).find(start(h) + "0)") != std::string::npos);
  check_error("checkpoint.safetensors_header/tensor_shape_more_elements_than", 65, verdict(h, 0));
  check_error("checkpoint.safetensors_header/bytes_after_last_tensor_belong_2", 65,
              verdict("{}", 3));
  // nothing in the middle of something
  h = "{" + tensor("a", "[2]", 0, 8) + "," + tensor("b", "[0]", 4, 4) + "}";
  CHECK(verdict(h, 8).find(start(h) + "4)") != std::string::npos);
  check_error("checkpoint.safetensors_header/empty_tensor_overlaps", 65, verdict(h, 8));
}

TEST_CASE("long and odd names are shown shortened and escaped") {
  const std::string error = verdict("{\"" + std::string(500, 'n') + "\":{}}", 0);
  CHECK(error.size() < 250);
  check_error("checkpoint.safetensors_header/tensor_b_e_no_dtype", 65,
              verdict(R"({"a\nb\u00e9":{}})", 0));
}

}  // namespace safetensors_header_test
