// What a line says beside its tokens: followed, refused, or no matter of the loss.
#include "data/source.hpp"
#include "expect_user_error.hpp"
#include "sample.hpp"
#include "scratch_folder.hpp"

namespace trainx::data::line_fields_test {
namespace {

constexpr std::int32_t no = no_target;

SourceOptions how(Targets targets = Targets::next_token) {
  SourceOptions options;
  options.sequence_length = 8;
  options.target_length = 8;
  options.vocab_limit = 100;
  options.num_labels = 3;
  options.targets = targets;
  return options;
}

std::unique_ptr<Source> open_lines(const ScratchFolder& folder, const std::string& text,
                                   const SourceOptions& options = how(), bool packed = false,
                                   const std::string& name = "a.jsonl") {
  const std::string path = folder.write(name, text);
  if (name.ends_with(".csv"))
    return open_source(options::CsvOptions{path, std::nullopt, false, {}}, Split::train, options);
  return open_source(options::JsonlOptions{path, std::nullopt, false, packed}, Split::train,
                     options);
}

Ids targets_of(const Source& source, std::int64_t index = 0) {
  return read_sample(source, index, 4).targets;
}

}  // namespace

TEST_CASE("masks say which tokens are learned, as labels do") {
  const ScratchFolder folder;
  const Ids want{no, 7, 8, no};
  for (const std::string name : {"completion_mask", "assistant_masks", "loss_mask"}) {
    INFO(name);
    for (const char* mask : {"[0, 0, 1, 1]", "[false, false, true, true]"})
      CHECK(targets_of(*open_lines(
                folder, R"({"input_ids": [5, 6, 7, 8], ")" + name + "\": " + mask + "}")) == want);
    CHECK(targets_of(*open_lines(folder, "input_ids," + name + "\n5 6 7 8,0 0 1 1\n", how(), false,
                                 "a.csv")) == want);
    // beside labels: what both say
    const auto beside = open_lines(
        folder,
        R"({"input_ids": [5, 6, 7, 8], "labels": [1, 2, 3, -100], ")" + name + "\": [1, 0, 1, 1]}");
    CHECK(targets_of(*beside) == Ids{no, 3, no, no});
    const auto refused = [&](const std::string& value, const std::string& says,
                             Targets targets = Targets::next_token) {
      expect_user_error(ExitCode::bad_data, {"a.jsonl:1", name, says}, [&] {
        open_lines(folder, R"({"input_ids": [5, 6], "label": 1, ")" + name + "\": " + value + "}",
                   how(targets));
      });
    };
    refused("[1]", "1 values");
    refused("[1, 2]", "[1] is 2");
    refused("[0.5, 1]", "no integer");
    refused("1", "list of integers");
    refused("\"01\"", "text");
    refused("[0, 1]", "classification", Targets::label);
    refused("[0, 1]", "masked_lm", Targets::own_token);
  }
  const auto both = open_lines(
      folder, R"({"input_ids": [5, 6, 7], "completion_mask": [0, 1, 1], "loss_mask": [1, 0, 1]})");
  CHECK(targets_of(*both) == Ids{no, 7, no, no});
  const auto classes = open_lines(folder,
                                  R"({"input_ids": [5, 6], "labels": [1, 2], "loss_mask": [0, 1]})",
                                  how(Targets::token_class));
  CHECK(targets_of(*classes) == Ids{no, 2, no, no});
  expect_user_error(ExitCode::bad_data, {"loss_mask", "seq2seq"}, [&] {
    open_lines(folder, R"({"input_ids": [5, 6], "labels": [1, 2, 3], "loss_mask": [0, 1]})",
               how(Targets::another_text));
  });
}

TEST_CASE("positions and lengths of packed rows say where documents begin") {
  const ScratchFolder folder;
  const auto starts = [&](const std::string& more) {
    const auto source =
        open_lines(folder, "{\"input_ids\": [1, 2, 3, 4, 5]" + more + "}", how(), true);
    Ids tokens(5), targets(5, no), begins(5, 0);
    source->read(0, {.tokens = tokens, .targets = targets, .document_starts = begins});
    return begins;
  };
  const Ids two{0, 0, 2, 2, 2}, one{0, 0, 0, 0, 0};
  CHECK(starts(R"(, "position_ids": [0, 1, 0, 1, 2])") == two);
  CHECK(starts(R"(, "seq_lengths": [2, 3])") == two);
  CHECK(starts(R"(, "document_lengths": [2, 3], "position_ids": [0, 1, 0, 1, 2])") == two);
  CHECK(starts(R"(, "seq_lengths": [2, 3], "position_ids": null)") == two);
  CHECK(starts(R"(, "position_ids": [0, 1, 2, 3, 4])") == one);
  const auto refused = [&](const std::string& more, const std::string& says, bool packed) {
    INFO(more);
    expect_user_error(ExitCode::bad_data, {"a.jsonl:1", says}, [&] {
      open_lines(folder, "{\"input_ids\": [1, 2, 3, 4, 5]" + more + "}", how(), packed);
    });
  };
  refused(R"(, "position_ids": [0, 1, 0, 1, 2])", "packed: true", false);
  refused(R"(, "seq_lengths": [2, 3])", "packed: true", false);
  refused(R"(, "position_ids": [1, 2, 3, 4, 5])", "position_ids[0] is 1", true);
  refused(R"(, "position_ids": [0, 1, 3, 4, 5])", "position_ids[2] is 3", false);
  refused(R"(, "position_ids": [0, 1])", "2 values", true);
  refused(R"(, "seq_lengths": [2, 3], "document_lengths": [5])", "other documents", true);
  refused(R"(, "document_lengths": [2, 3], "position_ids": [0, 1, 2, 3, 4])", "other documents",
          true);
  refused(R"(, "seq_lengths": [2, 2])", "leaves 1", true);
  // positions that say nothing new
  CHECK(open_lines(folder, R"({"input_ids": [1, 2], "position_ids": [0, 1]})")->samples() == 1);
}

TEST_CASE("a field that other tools learn from, and a near miss of one that is read, is refused") {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& name, const std::string& value,
                           const std::string& says, const std::string& more = "",
                           Targets targets = Targets::next_token) {
    INFO(name);
    expect_user_error(ExitCode::bad_data, {"a.jsonl:1", name, says}, [&] {
      open_lines(folder, R"({"input_ids": [5, 6], ")" + name + "\": " + value + more + "}",
                 how(targets));
    });
  };
  for (const char* name : {"lables", "Labels", "labels_", "label-s", "labls", "LABELS"})
    refused(name, "[5, 6]", "labels");
  refused("lable", "[5, 6]", "labels");
  refused("label", "[5, 6]", "labels");
  refused("lable", "1", "label", R"(, "label": null)", Targets::label);
  refused("loss_masks", "[0, 1]", "loss_mask");
  refused("completion-mask", "[0, 1]", "completion_mask");
  refused("positions_ids", "[0, 1]", "position_ids");
  for (const char* name : {"label_ids", "target_ids", "shift_labels"})
    refused(name, "[5, 6]", "labels");
  for (const char* name : {"response_mask", "label_mask", "assistant_tokens_mask", "mask",
                           "ignore_mask", "sft_mask", "gradient_masks"})
    refused(name, "[0, 1]", "loss_mask");
  for (const char* name : {"prompt_len", "num_prompt_tokens", "response_start"})
    refused(name, "1", "loss_mask");
  for (const char* name : {"loss_scale", "sample_weight", "weights", "weight", "row_weight"})
    refused(name, "2", "weighs");
  refused("padding_mask", "[1, 1]", "padding");
  for (const char* name : {"cu_seqlens", "seq_lens"}) refused(name, "[0, 2]", "document_lengths");
  refused("next_sentence_label", "1", "remove", "", Targets::own_token);
  for (const std::string name : {"lables", "label_ids", "loss_scale"})
    expect_user_error(ExitCode::bad_data, {"a.csv:1", name}, [&] {
      open_lines(folder, "input_ids," + name + "\n5 6,5 6\n", how(), false, "a.csv");
    });
}

TEST_CASE("ids, sources and the like are free, and so is what says nothing") {
  const ScratchFolder folder;
  const auto plain = targets_of(*open_lines(folder, R"({"input_ids": [5, 6, 7]})"));
  for (const char* more :
       {R"("id": 7, "source": "x", "url": "a", "text": "b", "length": 3, "meta": {"labels": [1]})",
        R"("document_id": 4, "idx": 1, "score": 0.5, "tables": ["t"], "levels": [1, 2, 3])",
        R"("label": 1)", R"("label_ids": null, "lables": null, "loss_mask": null)",
        R"("tokens": ["a", "b", "c"], "word_ids": [0, 1, 2], "attention_mask": [1, 1, 1])",
        R"("special_tokens_mask": [0, 0, 1], "offset_mapping": [[0, 1]], "weighted": 1)"}) {
    INFO(more);
    CHECK(targets_of(*open_lines(
              folder, std::string(R"({"input_ids": [5, 6, 7], )") + more + "}")) == plain);
  }
  // a near miss beside the field itself
  CHECK(targets_of(*open_lines(
            folder, R"({"input_ids": [5, 6], "labels": [5, -100], "lables": [1, 1]})")) ==
        Ids{no, no, no, no});
}

TEST_CASE("a class may be written 1.0, as pandas does") {
  const ScratchFolder folder;
  const auto lines = open_lines(folder, R"({"input_ids": [5], "label": 2.0})", how(Targets::label));
  CHECK(read_sample(*lines, 0, 2).label == Ids{2});
  const auto columns =
      open_lines(folder, "input_ids,label\n5 6,1.0\n", how(Targets::label), false, "a.csv");
  CHECK(read_sample(*columns, 0, 2).label == Ids{1});
  expect_user_error(ExitCode::bad_data, {"no integer"}, [&] {
    open_lines(folder, R"({"input_ids": [5], "label": 1.5})", how(Targets::label));
  });
  expect_user_error(ExitCode::bad_data, {"label"}, [&] {
    open_lines(folder, "input_ids,label\n5 6,nan\n", how(Targets::label), false, "a.csv");
  });
}

TEST_CASE("the first bad lines of all files are told at once") {
  const ScratchFolder folder;
  std::string many;
  for (int i = 0; i < 20; ++i) many += "{\"input_ids\": []}\n";
  folder.write("a.jsonl", "{\"input_ids\": [1, 2]}\n{\"input_ids\": [200]}\n{\"input_ids\": 1}\n");
  folder.write("b.jsonl", many);
  folder.write("c.jsonl", "{\"input_ids\": [1, 2]}\n");
  const options::JsonlOptions options{folder.path("?.jsonl"), std::nullopt, false};
  expect_user_error(ExitCode::bad_data,
                    {"a.jsonl:2", "a.jsonl:3", "b.jsonl:1", "b.jsonl:5", "15 lines more"},
                    [&] { open_source(options, Split::train, how()); });
}

}  // namespace trainx::data::line_fields_test
