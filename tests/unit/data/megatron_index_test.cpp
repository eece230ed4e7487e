#include "data/source.hpp"
#include "data/tokens/token_reader.hpp"
#include "expect_user_error.hpp"
#include "scratch_folder.hpp"
#include <cstring>

namespace trainx::data::megatron_index_test {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

struct Index {
  std::uint64_t version = 1;
  std::uint8_t type = 8;  // uint16
  std::vector<std::int32_t> lengths{3, 2, 4};
  std::vector<std::int64_t> pointers{0, 6, 10};
  std::vector<std::int64_t> documents{0, 2, 3};  // two documents, of sequences 0 and 1, and of 2
  std::string text() const {
    return std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>({version}) +
           std::string(1, static_cast<char>(type)) +
           bytes_of<std::uint64_t>({lengths.size(), documents.size()}) + bytes_of(lengths) +
           bytes_of(pointers) + bytes_of(documents);
  }
};
const std::vector<std::uint16_t> ids{10, 11, 12, 13, 14, 15, 16, 17, 65000};

}  // namespace

TEST_CASE("Megatron's token files are read with the index beside them") {
  const ScratchFolder folder;
  const std::string bin = folder.write("m.bin", bytes_of(ids));
  folder.write("m.idx", Index().text());
  const tokens::TokenReader reader(bin, {}, 0);
  REQUIRE(reader.count() == 9);
  for (std::size_t i = 0; i < ids.size(); ++i)
    CHECK(reader.token(static_cast<std::int64_t>(i)) == ids[i]);
  CHECK(reader.layout().documents == std::vector<std::int64_t>{0, 5});
  CHECK(open_source(options::TokensOptions{bin, std::nullopt, {}}, Split::train, {4})->samples() ==
        2);
  expect_user_error(ExitCode::bad_data, {"65000", "byte 16"},
                    [&] { tokens::TokenReader(bin, {}, 60000).token(8); });

  Index wide;
  wide.type = 4;
  wide.pointers = {0, 12, 20};
  folder.write("w.idx", wide.text());
  const tokens::TokenReader int32(
      folder.write("w.bin", bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6, 7, 8, -1})), {}, 0);
  CHECK(int32.token(7) == 8);
  expect_user_error(ExitCode::bad_data, {"w.bin"}, [&] { int32.token(8); });
}

TEST_CASE("a malformed index is refused in a sentence") {
  const ScratchFolder folder;
  const std::string bin = folder.write("m.bin", bytes_of(ids));
  const auto expect = [&](const std::string& text, const std::string& says) {
    folder.write("m.idx", text);
    INFO(says);
    expect_user_error(ExitCode::bad_data, {folder.path("m."), says},
                      [&] { tokens::TokenReader(bin, {}, 0); });
  };
  const auto changed = [](auto change) {
    Index index;
    change(index);
    return index.text();
  };
  expect("", "truncated");
  expect("MMIDIDX\n\n" + Index().text().substr(9), "none of Megatron");
  expect(Index().text().substr(0, 60), "more than it has");
  expect(Index().text().substr(0, 20), "truncated");
  expect(changed([](Index& i) { i.version = 2; }), "version 2");
  expect(changed([](Index& i) { i.type = 7; }), "type 7");
  expect(changed([](Index& i) { i.lengths[1] = -1; }), "sequence 1");
  expect(changed([](Index& i) { i.pointers = {6, 0, 10}; }), "do not follow");
  expect(changed([](Index& i) { i.documents = {0, 9}; }), "sequence 9");
  expect(changed([](Index& i) { i.lengths[2] = 5; }), "do not belong together");
  std::string huge = Index().text();
  const std::uint64_t count = ~std::uint64_t{0};
  std::memcpy(huge.data() + 18, &count, 8);
  expect(huge, "more than it has");
}

}  // namespace trainx::data::megatron_index_test
