#include "checkpoint/pending.hpp"
#include "checkpoint/shared_files.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/limited_file_size.hpp"
#include "support/temporary_folder.hpp"
#include "support/user_error.hpp"
#include "tensors.hpp"
#include <algorithm>
#include <filesystem>

namespace shared_files_test {

using namespace trainx;
using namespace trainx::checkpoint;

namespace {

Contents several(int tensors) {
  Contents c;
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    auto& list = c.tensor_files[file];
    for (int t = 0; t < tensors; ++t) {
      const DType dtype = t % 3 == 0 ? DType::f32 : t % 3 == 1 ? DType::bf16 : DType::u8;
      const std::int64_t elements = 10 + 37 * t;
      list.push_back(tensor_of("t" + std::to_string(t), dtype, {elements},
                               bytes_from(elements * size_of(dtype), static_cast<unsigned>(t))));
    }
  }
  c.text_files["config.json"] = "{}";
  return c;
}

}  // namespace

TEST_CASE(
    "shards that ranks write, however many, hold each tensor once, and are read and verified as "
    "one") {
  for (const int tensors : {0, 1, 2, 7})
    for (const int world : {1, 2, 3, 5}) {
      CAPTURE(tensors, world);
      const TemporaryFolder folder;
      Contents contents = several(tensors);
      std::vector<std::string> prepared;
      for (auto& [file, list] : contents.tensor_files)
        for (TensorSource& t : list)
          t.prepare = [&prepared, name = file + t.name] { prepared.push_back(name); };
      Store store(folder.path());
      Pending pending(folder.path(), 3);
      std::vector<std::vector<std::string>> order;
      for (int r = 0; r < world; ++r) {
        prepared.clear();
        for (const auto& [name, file] : write_shared(pending.path(), contents, r, world))
          pending.add(name, file);
        order.push_back(prepared);
        CHECK(prepared.size() == static_cast<std::size_t>(2 * tensors));
        CHECK(order.front() == prepared);
      }
      for (const auto& [name, text] : shared_indices(contents, world))
        pending.write_text(name, text);
      const std::string path = store.finish(pending, 1, true);
      CHECK(store.verify(path) == "");
      for (const char* stem : {"model", "optimizer"}) {
        const WeightsFolder files(path, stem);
        REQUIRE(files.tensors().size() == static_cast<std::size_t>(tensors));
        for (const TensorSource& t : contents.tensor_files.at(std::string(stem) + ".safetensors")) {
          const TensorEntry& got = *files.tensors().at(t.name).entry;
          std::vector<std::byte> want(got.data.size());
          t.fill(want);
          CHECK(got.dtype == t.dtype);
          CHECK(std::equal(want.begin(), want.end(), got.data.begin()));
        }
      }
    }
}

TEST_CASE("what cannot be written is told when all is prepared, and an unfinished folder goes") {
  const TemporaryFolder folder;
  Contents contents = several(7);
  int prepared = 0;
  for (auto& [file, list] : contents.tensor_files)
    for (TensorSource& t : list) t.prepare = [&prepared] { ++prepared; };
  {
    Pending pending(folder.path(), 3);
    const LimitedFileSize limited(300);
    CHECK(user_error_of([&] { write_shared(pending.path(), contents, 0, 2); }).starts_with("74: "));
  }
  CHECK(prepared == 14);
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace shared_files_test
