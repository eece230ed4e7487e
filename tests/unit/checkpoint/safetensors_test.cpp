#include "checkpoint/checkpoint.hpp"
#include "core/files.hpp"
#include "support/limited_file_size.hpp"
#include "support/temporary_folder.hpp"
#include "support/golden.hpp"
#include "tensors.hpp"
#include "support/catch.hpp"
#include <algorithm>

namespace safetensors_test {

using namespace trainx;
using namespace trainx::checkpoint;

TEST_CASE("tensors of every dtype, scalars and empty ones read back as written") {
  const TemporaryFolder folder;
  const std::string path = folder / "t.safetensors";
  const DType dtypes[] = {DType::u8,  DType::f64, DType::f32, DType::f16, DType::bf16,
                          DType::i64, DType::i32, DType::i16, DType::u16};
  const std::vector<std::vector<std::int64_t>> shapes{{},        {0},       {3},
                                                      {2, 0, 5}, {2, 3, 5}, {1, 1, 1, 7}};
  std::vector<TensorSource> tensors;
  std::map<std::string, std::vector<std::byte>> want;
  for (const DType dtype : dtypes)
    for (const auto& dims : shapes) {
      std::int64_t bytes = size_of(dtype);
      std::string name(name_of(dtype));
      for (const auto d : dims) bytes *= d, name += "." + std::to_string(d);
      want[name] = bytes_from(bytes, static_cast<unsigned>(want.size()));
      tensors.push_back(tensor_of(name, dtype, dims, want[name]));
    }
  tensors.push_back(tensor_of("quote\" slash\\ \u00e9\n", DType::u8, {1}, bytes_from(1, 7)));
  write_safetensors(path, tensors, {{"made_by", "a \"test\""}});

  const SafetensorsReader reader(path);
  CHECK(reader.metadata() ==
        std::map<std::string, std::string>{{"format", "pt"}, {"made_by", "a \"test\""}});
  REQUIRE(reader.tensors().size() == tensors.size());
  for (const TensorSource& t : tensors) {
    INFO(t.name);
    const TensorEntry& entry = reader.tensors().at(t.name);
    CHECK(entry.dtype == t.dtype);
    CHECK(entry.dims == t.dims);
    std::vector<std::byte> bytes(entry.data.size());
    t.fill(bytes);
    CHECK(std::equal(bytes.begin(), bytes.end(), entry.data.begin(), entry.data.end()));
    CHECK(reinterpret_cast<std::uintptr_t>(entry.data.data()) %
              static_cast<std::uintptr_t>(size_of(entry.dtype)) ==
          0);
  }
}

TEST_CASE("a file without tensors is one") {
  const TemporaryFolder folder;
  write_safetensors(folder / "t", {});
  CHECK(SafetensorsReader(folder / "t").tensors().empty());
}

TEST_CASE("the bytes of a file are those that the format prescribes") {
  const TemporaryFolder folder;
  write_safetensors(folder / "t",
                    {tensor_of("a", DType::u8, {1}, {std::byte{7}}),
                     tensor_of("b", DType::f32, {1}, std::vector<std::byte>(4))},
                    {{"format", "x"}});
  const std::string header =
      R"({"__metadata__":{"format":"x"},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})";
  const std::string file = read_file(folder / "t");
  const std::size_t padded = (header.size() + 7) / 8 * 8;
  REQUIRE(file.size() == 8 + padded + 5);
  CHECK(file.substr(0, 8) == std::string{static_cast<char>(padded), 0, 0, 0, 0, 0, 0, 0});
  CHECK(file.substr(8, padded) == header + std::string(padded - header.size(), ' '));
  CHECK(file.substr(8 + padded) == std::string("\0\0\0\0\7", 5));
}

TEST_CASE("what cannot be saved is a broken promise") {
  const TemporaryFolder folder;
  const auto a = tensor_of("a", DType::u8, {1}, bytes_from(1, 0));
  CHECK_THROWS_AS(write_safetensors(folder / "t", {a, a}), InternalError);
  CHECK_THROWS_AS(write_safetensors(folder / "t", {tensor_of("a", DType::u8, {-1}, {})}),
                  InternalError);
  CHECK_THROWS_AS(write_safetensors(folder / "t", {tensor_of("a", DType::f64, {1ll << 62}, {})}),
                  InternalError);
  CHECK_THROWS_AS(write_safetensors(folder / "t",
                                    {tensor_of("__metadata__", DType::u8, {1}, bytes_from(1, 0))}),
                  InternalError);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a file that cannot be written leaves nothing behind") {
  const TemporaryFolder folder;
  const LimitedFileSize limit(10'000);
  check_error("checkpoint.safetensors/cannot_written_file_too_large", 74, user_error_of([&] {
                write_safetensors(folder / "t",
                                  {tensor_of("a", DType::u8, {20'000}, bytes_from(20'000, 1))});
              }));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a reader of a file that is missing or a folder says so") {
  const TemporaryFolder folder;
  check_error("checkpoint.safetensors/no_cannot_read_no_such", 66,
              user_error_of([&] { SafetensorsReader r(folder / "no"); }));
  check_error("checkpoint.safetensors/cannot_read_directory", 66,
              user_error_of([&] { SafetensorsReader r(folder.path()); }));
}

}  // namespace safetensors_test
