#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "support/temporary_folder.hpp"
#include "support/user_error.hpp"
#include "support/catch.hpp"
#include <cstring>

using namespace trainx;
using namespace trainx::checkpoint;

namespace {

// What the reader says of a file with this header and so many bytes of data; the file's own name left out.
std::string verdict(const std::string& header, std::size_t data_bytes, std::uint64_t length) {
  const TemporaryFolder folder;
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  write_file_atomic(folder / "t", file + header + std::string(data_bytes, 'd'));
  std::string error = user_error_of([&] { SafetensorsReader reader(folder / "t"); });
  if (const auto at = error.find(folder / "t"); at != std::string::npos) error.erase(at, (folder / "t: ").size());
  return error;
}
std::string verdict(const std::string& header, std::size_t data_bytes) { return verdict(header, data_bytes, header.size()); }

}  // namespace

TEST_CASE("sound headers are read") {
  CHECK(verdict("{}", 0) == "nothing thrown");
  CHECK(verdict("{}   \n ", 0) == "nothing thrown");
  CHECK(verdict(R"({"a":{"data_offsets":[0,8],"shape":[2],"dtype":"F32"}})", 8) == "nothing thrown");
  CHECK(verdict(R"({"b":{"dtype":"U8","shape":[],"data_offsets":[4,5]},"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"__metadata__":{}})", 5) == "nothing thrown");
  CHECK(verdict(R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4) == "nothing thrown");
  // An empty shape stays empty however large its other sizes are.
  CHECK(verdict(R"({"z":{"dtype":"F32","shape":[9000000000000000000,9000000000000000000,0],"data_offsets":[0,0]}})", 0) == "nothing thrown");
}

TEST_CASE("a file that is too short or no safetensors file") {
  const TemporaryFolder folder;
  write_file_atomic(folder / "t", "");
  CHECK(user_error_of([&] { SafetensorsReader r(folder / "t"); }) ==
        "65: " + (folder / "t") + ": the file is truncated: 0 bytes, not even the length of a header (byte 0)");
  write_file_atomic(folder / "t", "1234567");
  CHECK(user_error_of([&] { SafetensorsReader r(folder / "t"); }) ==
        "65: " + (folder / "t") + ": the file is truncated: 7 bytes, not even the length of a header (byte 0)");
  CHECK(verdict("{}", 0, 3) == "65: the file is truncated: its header has 3 bytes, the file only 2 after the length (byte 8)");
  CHECK(verdict("{}", 0, 100'000'001) == "65: a header of 100000001 bytes, more than the format allows (byte 0): this is no safetensors file");
  CHECK(verdict("{}", 0, ~0ull) == "65: a header of 18446744073709551615 bytes, more than the format allows (byte 0): this is no safetensors file");
  CHECK(verdict("", 0) == "65: the header does not begin with '{' (byte 8): this is no safetensors file");
  CHECK(verdict(" {}", 0) == "65: the header does not begin with '{' (byte 8): this is no safetensors file");
  CHECK(verdict("[1]", 0) == "65: the header does not begin with '{' (byte 8): this is no safetensors file");
}

TEST_CASE("a header that is not JSON is refused with its place") {
  CHECK(verdict(R"({"a":)", 0) == R"(65: the header is not JSON at "\"a\":" (near byte 12))");
  CHECK(verdict(R"({} x)", 0) == R"(65: the header is not JSON at "{} x" (near byte 11))");
  CHECK(verdict("{\"\xff\":{}}", 0).find("65: the header is not JSON at ") == 0);
  CHECK(verdict(std::string("{\"a\0\":{}}", 9), 0).find("65: the header is not JSON at ") == 0);
}

TEST_CASE("a header of another shape is refused with tensor and place") {
  CHECK(verdict(R"({"a":1})", 0) == R"(65: the number 1 where the description of tensor "a" belongs (near byte 14))");
  CHECK(verdict(R"({"a":null})", 0).find(R"(65: null where the description of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":[]})", 0).find(R"(65: a list where the description of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{}})", 0).find(R"(65: tensor "a" has no dtype)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4).find(R"(65: tensor "a" has no shape)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"F32","shape":[1]}})", 4).find(R"(65: tensor "a" has no data_offsets)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1).find(
            R"(65: tensor "a" has dtype "F8_E4M3", which trainx does not read (it reads F64, F32, F16, BF16, I64, I32, I16, U16, U8))") == 0);
  CHECK(verdict(R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,1]}})", 1).find(R"(65: the number 4 where "dtype" of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":"1","data_offsets":[0,1]}})", 1).find(R"(65: the text "1" where "shape" of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}})", 1).find(R"(65: a list where "dtype" of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1).find(R"(65: a negative number where a size of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1).find(R"(65: the number 1.0 where a size of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}})", 1).find(R"(65: a truth value where a size of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]}})", 1).find(R"(65: the number 9223372036854775808 where a size)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1).find(R"(65: a list where a size of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1).find(R"(65: tensor "a" has 3 data_offsets instead of 2)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"extra":1}})", 1).find(R"(65: tensor "a" has "extra", which the format does not know)") == 0);
  CHECK(verdict(R"({"__metadata__":{"k":1}})", 0).find(R"(65: the number 1 where the metadata "k" must be a text)") == 0);
  CHECK(verdict(R"({"__metadata__":"k"})", 0).find(R"(65: the text "k" where the metadata belongs)") == 0);
  CHECK(verdict(std::string(R"({"a":)") + std::string(1'000'000, '['), 0).find(R"(65: a list where the description of tensor "a" belongs)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","shape":)" + std::string(1'000'000, '['), 0).find(R"(65: a list where a size of tensor "a" belongs)") == 0);
}

TEST_CASE("equal names are refused, wherever they are") {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(verdict("{" + a + "," + a + "}", 0).find(R"(65: tensor "a" is described twice)") == 0);
  CHECK(verdict(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0).find(R"(65: "dtype" is given twice for "a")") == 0);
  CHECK(verdict(R"({"__metadata__":{"k":"1","k":"2"}})", 0).find(R"(65: "k" is given twice for "__metadata__")") == 0);
  CHECK(verdict(R"({"__metadata__":{},"__metadata__":{}})", 0).find("65: __metadata__ is described twice") == 0);
  CHECK(verdict("{" + a + R"(,"\u0061":{}})", 0).find(R"(65: tensor "a" is described twice)") == 0);
}

TEST_CASE("every byte of the data belongs to exactly one tensor") {
  const auto tensor = [](const std::string& name, const std::string& shape, long begin, long end) {
    return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  const std::string a = "{" + tensor("a", "[2]", 0, 8) + ",";
  const auto start = [](const std::string& header) { return "(data at byte " + std::to_string(8 + header.size()) + " + "; };
  std::string h = a + tensor("b", "[1]", 4, 8) + "}";
  CHECK(verdict(h, 8) == R"(65: tensor "b" overlaps the one before it, which ends at 8 )" + start(h) + "4)");
  h = a + tensor("b", "[1]", 12, 16) + "}";
  CHECK(verdict(h, 16) == R"(65: 4 bytes before tensor "b" belong to no tensor )" + start(h) + "12)");
  h = "{" + tensor("a", "[1]", 4, 8) + "}";
  CHECK(verdict(h, 8) == R"(65: 4 bytes before tensor "a" belong to no tensor )" + start(h) + "4)");
  h = a + tensor("b", "[1]", 8, 12) + "}";
  CHECK(verdict(h, 11) == R"(65: the file is truncated: tensor "b" ends at 12 of only 11 bytes of data )" + start(h) + "8)");
  CHECK(verdict(h, 15) == "65: 3 bytes after the last tensor belong to none (from byte " + std::to_string(8 + h.size() + 12) + ")");
  h = "{" + tensor("a", "[3]", 0, 8) + "}";
  CHECK(verdict(h, 8) == R"(65: tensor "a" takes 12 bytes by its dtype and shape, its data_offsets give it 8 )" + start(h) + "0)");
  h = "{" + tensor("a", "[1]", 8, 4) + "}";
  CHECK(verdict(h, 8) == R"(65: tensor "a" ends at 4, before it begins )" + start(h) + "8)");
  h = "{" + tensor("a", "[4294967296,4294967296]", 0, 0) + "}";   // 2^66 bytes: 0 where it wraps
  CHECK(verdict(h, 0) == R"(65: tensor "a" has a shape of more elements than fit any file )" + start(h) + "0)");
  CHECK(verdict("{}", 3) == "65: 3 bytes after the last tensor belong to none (from byte 10)");
  h = "{" + tensor("a", "[2]", 0, 8) + "," + tensor("b", "[0]", 4, 4) + "}";   // nothing in the middle of something
  CHECK(verdict(h, 8) == R"(65: tensor "b" overlaps the one before it, which ends at 8 )" + start(h) + "4)");
}

TEST_CASE("long and odd names are shown shortened and escaped") {
  const std::string error = verdict("{\"" + std::string(500, 'n') + "\":{}}", 0);
  CHECK(error.size() < 250);
  CHECK(verdict(R"({"a\nb\u00e9":{}})", 0).find(R"(65: tensor "a\nb\u00e9" has no dtype)") == 0);
}
