#include "corpus/inspect.hpp"
#include <cmath>
#include "corpus/tokenize_job.hpp"
#include "made_tokenizer.hpp"
#include "unit/data/expect_user_error.hpp"

namespace trainx::corpus::inspect_test {

TEST_CASE("a token file is told by its documents, labelled lines by their samples") {
  const MadeTokenizer made;
  JobOptions job;
  job.inputs = {made.folder.write(
      "a.jsonl",
      "{\"text\": \"the cat\\nsat\"}\n{\"text\": \"\\u001b[31mthat\"}\n{\"text\": \"\"}\n")};
  job.out = made.folder.path("a.bin");
  job.output.end_of_text = 0;
  run_tokenize_job(*made.tokenizer, job, [](const JobProgress&) {});
  InspectOptions o;
  o.path = job.out;
  o.tokenizer = made.tokenizer.get();
  o.sequence_length = 4;
  const Inspection in = inspect(o);
  CHECK(in.parts == 3);
  CHECK(in.shortest == 1);
  CHECK(in.tokens == static_cast<std::int64_t>(made.encode("the cat\nsat").size() +
                                               made.encode("\x1b[31mthat").size() + 3));
  CHECK(in.rows == (in.tokens - 1) / 4);
  CHECK(in.in_loss == in.tokens - 1);
  const std::string text = describe(in, o, 80, false);
  INFO(text);
  CHECK(text.find("documents  3, of 1 to") != std::string::npos);
  CHECK(text.find("\\n") != std::string::npos);
  CHECK(text.find("\\x1b") != std::string::npos);
  // what is in a file is no command to the terminal
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("<|endoftext|>") != std::string::npos);
  CHECK(to_json(in, o)["shown"][0]["text"] == "the cat\nsat<|endoftext|>");

  o.path = made.folder.write("b.jsonl",
                             "{\"input_ids\": [1, 2, 3], \"labels\": [-100, 2, "
                             "-100]}\n{\"input_ids\": [4], \"labels\": [4]}\n");
  o.sequence_length = 64;
  const Inspection lines = inspect(o);
  CHECK(lines.parts == 2);
  CHECK(lines.in_loss == 2);
  CHECK(std::abs(lines.padding_share - 60.0 / 64) < 1e-12);
  CHECK(describe(lines, o, 80, false).find("^") != std::string::npos);

  o.path = made.folder.write("c.jsonl",
                             "{\"input_ids\": [1], \"label\": 1}\n{\"input_ids\": [1, 1], "
                             "\"label\": 0}\n{\"input_ids\": [1], \"label\": 1}\n");
  CHECK(inspect(o).labels == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1}, {1, 2}});
  o.path = made.folder.write("d.jsonl", "{\"input_ids\": [1]}\n{\"input_ids\": [300]}\n");
  data::expect_user_error(ExitCode::bad_data, {"d.jsonl", "id 300"}, [&] { inspect(o); });
  o.path = made.folder.path("none.bin");
  data::expect_user_error(ExitCode::input_missing, {"none.bin"}, [&] { inspect(o); });
}

}  // namespace trainx::corpus::inspect_test
