// Encoder-decoders: what a recipe changes of a folder's config.json is written back.
#include "core/error.hpp"
#include "architectures/absent_tensor.hpp"
#include "architectures/seq2seq.hpp"
#include "architectures/unwritten.hpp"
#include <nlohmann/json.hpp>
#include "support/catch.hpp"

namespace seq2seq_test {

using namespace trainx;
using namespace trainx::architectures;
using nlohmann::json;

namespace {

json small(const std::string& family) {
  if (family == "t5")
    return {
        {"model_type", "t5"}, {"d_model", 8},   {"d_kv", 4},        {"d_ff", 16},
        {"num_layers", 2},    {"num_heads", 2}, {"vocab_size", 16}, {"decoder_start_token_id", 0}};
  return {{"model_type", family},
          {"d_model", 8},
          {"encoder_layers", 2},
          {"decoder_layers", 2},
          {"encoder_ffn_dim", 16},
          {"decoder_ffn_dim", 16},
          {"encoder_attention_heads", 2},
          {"decoder_attention_heads", 2},
          {"vocab_size", 16},
          {"max_position_embeddings", 32}};
}

Seq2SeqDims read(const json& config) {
  return seq2seq_dims(config["model_type"], config.dump(), "c");
}

/// After a recipe's options, as the next reader finds it.
Seq2SeqDims saved_with(const json& config, Seq2SeqOptions o) {
  Seq2SeqDims d = read(config);
  o.name = d.family;
  for (const Dimension& size : dimensions(o, d))
    if (size.written) size.decided = *size.written;
  take_settings(o, d);
  const Seq2SeqDims back = read(json::parse(seq2seq_config_text(d, DType::f32)));
  CHECK(back.dropout == d.dropout);
  CHECK(back.activation_dropout == d.activation_dropout);
  CHECK(back.num_layers == d.num_layers);
  CHECK(back.num_decoder_layers == d.num_decoder_layers);
  return back;
}

Seq2SeqOptions dropping(double dropout) {
  Seq2SeqOptions o;
  o.dropout.value = dropout;
  return o;
}

}  // namespace

TEST_CASE("dropouts that a recipe changes stand in config.json") {
  for (const char* family : {"bart", "mbart"}) {
    INFO(family);
    json config = small(family);
    config["dropout"] = 0.1;
    config["attention_dropout"] = 0.2;
    config["activation_dropout"] = 0.3;
    Seq2SeqOptions o = dropping(0.4);
    Seq2SeqDims d = saved_with(config, o);
    CHECK(d.dropout == 0.4);
    CHECK(d.attention_dropout == 0.2);
    CHECK(d.activation_dropout == 0.4);
    o.attention_dropout.value = 0.0;
    CHECK(saved_with(config, o).attention_dropout == 0);
    d = saved_with(config, dropping(0));
    CHECK(d.dropout == 0);
    CHECK(d.activation_dropout == 0);
    CHECK(d.attention_dropout == 0.2);
    // a model that drops nothing inside its MLPs goes on so
    config.erase("activation_dropout");
    CHECK(saved_with(config, dropping(0.4)).activation_dropout == 0);
    config.erase("dropout");  // which means 0.1
    CHECK(saved_with(config, {}).dropout == 0.1);
    CHECK(saved_with(config, dropping(0)).dropout == 0);
  }
  const Seq2SeqDims d = saved_with(small("t5"), dropping(0.4));
  CHECK(d.dropout == 0.4);
  CHECK(d.attention_dropout == 0.4);
  CHECK(d.activation_dropout == 0.4);
  CHECK(saved_with(small("t5"), dropping(0)).attention_dropout == 0);
}

TEST_CASE("attention of T5 drops apart from the rest, of which its config.json says nothing") {
  for (const char* family : {"t5", "bart"}) {
    INFO(family);
    json config = small(family);
    config[std::string(family) == "t5" ? "dropout_rate" : "dropout"] = 0.1;
    for (const double rate : {0.0, 0.3}) {
      Seq2SeqOptions o;
      o.name = family;
      o.attention_dropout.value = rate;
      Seq2SeqDims d = read(config);
      take_settings(o, d);
      CHECK(d.attention_dropout == rate);
      CHECK(d.dropout == 0.1);
      const std::string told = unwritten_dropout(d);
      CHECK(told.empty() == (std::string(family) == "bart"));
      const Seq2SeqDims back = read(json::parse(seq2seq_config_text(d, DType::f32)));
      CHECK(back.dropout == 0.1);
      CHECK(back.attention_dropout == (told.empty() ? rate : 0.1));
    }
    CHECK(unwritten_dropout(read(config)).empty());
  }
}

TEST_CASE("an unchanged config.json keeps its keys") {
  for (const char* family : {"t5", "bart", "mbart"}) {
    const json config = small(family),
               text = json::parse(seq2seq_config_text(read(config), DType::f32));
    INFO(family << " " << text.dump());
    for (const auto& [key, value] : config.items()) CHECK(text[key] == value);
    for (const char* dropout : {"dropout", "dropout_rate", "attention_dropout"})
      CHECK_FALSE(text.contains(dropout));
  }
}

TEST_CASE("layers of the decoder are written where an absent key means other layers") {
  json config = small("bart");
  config.erase("decoder_layers");
  config["encoder_layers"] = 12;
  Seq2SeqOptions o;
  o.num_layers = 3;
  CHECK(saved_with(config, o).num_decoder_layers == 3);
  o.num_decoder_layers = 2;
  CHECK(saved_with(config, o).num_decoder_layers == 2);
  CHECK(saved_with(small("t5"), o).num_decoder_layers == 2);
}

TEST_CASE("tokens that a config.json does not name are its family's") {
  CHECK(read(small("t5")).shift.pad == 0);
  CHECK(read(small("t5")).pad_token == -1);
  CHECK(read(small("bart")).shift.start == 2);
  CHECK(read(small("bart")).pad_token == 1);
  CHECK_FALSE(read(small("bart")).shift.wraps);
  CHECK(read(small("mbart")).shift.start == -1);
  CHECK(read(small("mbart")).shift.wraps);
  json config = small("t5");
  config.erase("decoder_start_token_id");
  CHECK_THROWS_AS(read(config), UserError);
}

TEST_CASE("T5 without the scale of a tied head may have a head of its own, or none") {
  json config = small("t5");
  CHECK(head_of_own(read(config)).empty());
  CHECK(head_of_own(read(small("bart"))).empty());
  config["tie_word_embeddings"] = false;
  CHECK(head_of_own(read(config)) == "lm_head.weight");
  config["tie_word_embeddings"] = true;
  config["scale_decoder_outputs"] = false;
  const Seq2SeqDims own = read(config);
  CHECK(head_of_own(own) == "lm_head.weight");
  CHECK_FALSE(own.tied());
  ModelDims tied = own;
  tie_head(tied);
  CHECK(std::get<Seq2SeqDims>(tied).tied());
  CHECK(std::get<Seq2SeqDims>(tied).logit_scale == own.logit_scale);
  CHECK(head_of_own(tied).empty());
  Seq2SeqOptions options;
  take_settings(options, std::get<Seq2SeqDims>(tied));
  CHECK(std::get<Seq2SeqDims>(tied).tied());
}

}  // namespace seq2seq_test
