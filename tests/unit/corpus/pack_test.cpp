#include "corpus/pack.hpp"
#include "core/files.hpp"
#include "corpus/first_fit_rows.hpp"
#include "corpus/inspect.hpp"
#include "made_tokenizer.hpp"
#include "unit/data/expect_user_error.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

namespace trainx::corpus::pack_test {
namespace {

using Ids = std::vector<std::int32_t>;

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> out;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

PackOptions options(const std::string& path, const std::string& out, std::int64_t length,
                    std::optional<std::int32_t> end_of_text = {}) {
  return {path, out, length, end_of_text};
}

}  // namespace

TEST_CASE("first-fit takes the first row that has room, as trying them one after another does") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 60; ++run) {
    const std::int32_t row_length = std::uniform_int_distribution(1, 64)(random);
    Ids lengths(std::uniform_int_distribution<std::size_t>(0, 200)(random));
    for (auto& l : lengths) l = std::uniform_int_distribution(1, row_length)(random);
    std::vector<std::int64_t> want, used;
    for (const std::int32_t l : lengths) {
      const auto fits =
          std::ranges::find_if(used, [&](std::int64_t u) { return u + l <= row_length; });
      want.push_back(fits - used.begin());
      if (fits == used.end())
        used.push_back(l);
      else
        *fits += l;
    }
    REQUIRE(first_fit_rows(lengths, row_length) == want);
  }
  CHECK_THROWS_AS(first_fit_rows(Ids{5}, 4), InternalError);
  CHECK_THROWS_AS(first_fit_rows(Ids{0}, 4), InternalError);
}

TEST_CASE(
    "every token of every document is in one row once, and the documents say where they end") {
  const data::ScratchFolder folder;
  std::mt19937 random(7);
  std::string text;
  std::multiset<std::vector<std::int64_t>> want;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::int64_t> document(std::uniform_int_distribution<std::size_t>(1, 20)(random));
    for (auto& id : document) id = std::uniform_int_distribution(0, 1000)(random);
    want.insert(document);
    text += nlohmann::json{{"input_ids", document}}.dump() + "\n";
  }
  const PackReport report =
      pack(options(folder.write("a.jsonl", text), folder.path("packed.jsonl"), 20));
  CHECK(report.documents == 300);
  CHECK(report.cut == 0);
  CHECK(report.padding_share < 0.1);
  CHECK(report.padding_share_unpacked > 0.3);
  std::multiset<std::vector<std::int64_t>> found;
  const auto lines = lines_of(folder.path("packed.jsonl"));
  CHECK(static_cast<std::int64_t>(lines.size()) == report.rows);
  for (const auto& line : lines) {
    const auto ids = line["input_ids"].get<std::vector<std::int64_t>>();
    REQUIRE(ids.size() <= 20);
    auto at = ids.begin();
    for (const std::int64_t length : line["document_lengths"]) {
      found.insert({at, at + length});
      at += length;
    }
    REQUIRE(at == ids.end());
  }
  CHECK(found == want);
}

TEST_CASE(
    "a document longer than a row is cut so that each of its tokens but the first is predicted "
    "once") {
  const data::ScratchFolder folder;
  for (const int length : {4, 5, 7, 8, 100}) {
    std::vector<int> ids(static_cast<std::size_t>(length)), labels;
    std::iota(ids.begin(), ids.end(), 1);
    for (const int id : ids) labels.push_back(id % 3 == 0 ? -100 : id);
    const std::string out = folder.path("packed" + std::to_string(length) + ".jsonl");
    pack(options(folder.write("long.jsonl",
                              nlohmann::json{{"input_ids", ids}, {"labels", labels}}.dump() + "\n"),
                 out, 4));
    std::vector<int> predicted, wanted;
    for (const auto& line : lines_of(out)) {
      std::size_t at = 0;
      for (const std::size_t tokens : line["document_lengths"])
        for (std::size_t i = 0; i < tokens; ++i, ++at)
          if (i > 0) {
            predicted.push_back(line["input_ids"][at]);
            wanted.push_back(line["labels"][at]);
          }
    }
    CHECK(predicted == std::vector<int>(ids.begin() + 1, ids.end()));
    CHECK(wanted == std::vector<int>(labels.begin() + 1, labels.end()));
  }
}

TEST_CASE("a token file is packed by its documents, and what comes out can be looked at") {
  const MadeTokenizer made;
  const auto& folder = made.folder;
  std::string bytes(1024, '\0');
  const Ids ids{5, 6, 0, 7, 0, 8, 9, 10, 0, 11};
  const std::uint32_t header[]{20240520, 1, static_cast<std::uint32_t>(ids.size())};
  bytes.replace(0, sizeof header, reinterpret_cast<const char*>(header), sizeof header);
  for (const std::int32_t id : ids) bytes.append(reinterpret_cast<const char*>(&id), 2);
  const std::string path = folder.write("a.bin", bytes), out = folder.path("rows.jsonl");
  data::expect_user_error(ExitCode::bad_data, {"a.bin", "--end-of-text"},
                          [&] { pack(options(path, out, 6)); });
  const PackReport report = pack(options(path, out, 6, 0));
  CHECK(report.documents == 4);
  CHECK(report.rows == 2);
  CHECK(report.most_pieces == 3);
  CHECK(lines_of(out)[0]["input_ids"] == nlohmann::json({5, 6, 0, 7, 0, 11}));
  CHECK(lines_of(out)[0]["document_lengths"] == nlohmann::json({3, 2, 1}));
  CHECK(lines_of(out)[1]["input_ids"] == nlohmann::json({8, 9, 10, 0}));
  InspectOptions o;
  o.path = out;
  o.tokenizer = made.tokenizer.get();
  o.sequence_length = 6;
  const Inspection in = inspect(o);
  CHECK(in.parts == 2);
  CHECK(in.documents == 4);
  CHECK(in.in_loss == 10 - 4);
  CHECK(in.shown[0].begins == std::vector<bool>{true, false, false, true, false, true});
  const std::string text = describe(in, o, 80, false);
  INFO(text);
  CHECK(text.find("documents  4, packed") != std::string::npos);
  CHECK(text.find("<|endoftext|>||") != std::string::npos);
}

TEST_CASE("rows say whose tokens they are, as far as the file that was packed does") {
  const data::ScratchFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"input_ids\": [1, 2]}\n"),
                    with = folder.path("with.jsonl"), without = folder.path("without.jsonl");
  using data::read_about;
  data::write_about(path,
                    {{"tokenizer", "tok/tokenizer.json"}, {"vocab_size", 300}, {"end_of_text", 7}});
  pack(options(path, with, 4));
  CHECK(read_about(with).tokenizer == folder.path("tok/tokenizer.json"));
  PackOptions named = options(path, folder.path("named.jsonl"), 4);
  named.tokenizer.tokenizer = folder.path("other/tokenizer.json");
  named.tokenizer.vocab_size = 400;
  pack(named);
  CHECK(read_about(named.out).tokenizer == folder.path("other/tokenizer.json"));
  CHECK(read_about(named.out).vocab_size == 400);
  CHECK(read_about(with).vocab_size == 300);
  CHECK_FALSE(read_about(with).end_of_text);
  // a file of somebody else's
  for (const char* other :
       {"[1]", "{", "{\"tokenizer\": 3, \"vocab_size\": -1, \"end_of_text\": 5000000000}"}) {
    folder.write("a.jsonl.json", other);
    CHECK(read_about(path).tokenizer.empty());
    CHECK(read_about(path).vocab_size == 0);
    CHECK_FALSE(read_about(path).end_of_text);
  }
  pack(options(path, without, 4));
  CHECK(read_about(without).tokenizer.empty());
  CHECK(read_about(folder.path("none.jsonl")).vocab_size == 0);
}

TEST_CASE("what cannot be packed is named with its line") {
  const data::ScratchFolder folder;
  const auto refused = [&](const std::string& lines, const std::string& says) {
    data::expect_user_error(ExitCode::bad_data, {"x.jsonl:2", says}, [&] {
      pack(options(folder.write("x.jsonl", "{\"input_ids\": [1]}\n" + lines),
                   folder.path("y.jsonl"), 4));
    });
  };
  refused("{\"input_ids\": [1], \"label\": 1}\n", "has a label");
  refused("{\"input_ids\": [1], \"labels\": [1]}\n", "lines before have none");
  refused("{\"input_ids\": [1], \"token_type_ids\": [0]}\n", "token_type_ids");
  refused("{\"input_ids\": [1, 2], \"document_lengths\": [2]}\n", "packed");
  refused("{\"input_ids\": []}\n", "empty");
  refused("{\"input_ids\": [1}\n", "malformed");
  refused("{\"input_ids\": [1, 2], \"loss_weights\": [1, 2]}\n", "loss_weights");
  CHECK(!std::filesystem::exists(folder.path("y.jsonl")));
  const std::string silent = "{\"input_ids\": [1, 2], \"labels\": [-100, -100]}\n";
  data::expect_user_error(ExitCode::bad_data, {"s.jsonl", "no target"}, [&] {
    pack(options(folder.write("s.jsonl", silent + silent), folder.path("y.jsonl"), 4));
  });
  CHECK(!std::filesystem::exists(folder.path("y.jsonl")));
  // blank lines are none, and a file that is there is replaced where that is asked for
  PackOptions again =
      options(folder.write("b.jsonl", "{\"input_ids\": [1]}\n\n{\"input_ids\": [2]}\n"),
              folder.write("y.jsonl", "old"), 4);
  again.overwrite = true;
  CHECK(pack(again).documents == 2);
  InspectOptions o;
  o.path = folder.write("left.jsonl", "{\"input_ids\": [1, 2, 3], \"document_lengths\": [2]}\n");
  data::expect_user_error(ExitCode::bad_data, {"left.jsonl:1", "leaves 1"}, [&] { inspect(o); });
  const std::string there = folder.write("there.jsonl", "{\"input_ids\": [1]}\n");
  data::expect_user_error(ExitCode::cannot_create, {"there.jsonl"},
                          [&] { pack(options(there, there, 4)); });
  data::expect_user_error(ExitCode::usage, {".jsonl"},
                          [&] { pack(options(there, folder.path("z.bin"), 4)); });
  data::expect_user_error(ExitCode::input_missing, {"none.bin"}, [&] {
    pack(options(folder.path("none.bin"), folder.path("z.jsonl"), 4));
  });
}

}  // namespace trainx::corpus::pack_test
