#include "tokenizer/decoder.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/normalizer.hpp"
#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace trainx::tokenizer {
namespace {

std::string joined(const Tokens& tokens) {
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

class ByteLevelDecoder final : public Decoder {
 public:
  void apply(Tokens& tokens, MatchSpace&) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += from_byte_alphabet(token).value_or(token);
    tokens = {with_replacements(bytes)};
  }
};

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void apply(Tokens& tokens, MatchSpace&) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(prefix_))
        tokens[i].erase(0, prefix_.size());
      else if (i > 0)
        tokens[i] = " " + tokens[i];
      if (!cleanup_) continue;
      // English as BERT's authors had it.
      constexpr std::pair<const char*, const char*> changes[] = {
          {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
          {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
          {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
      for (const auto& [from, to] : changes) replace_all(tokens[i], from, to);
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(Tokens& tokens, MatchSpace&) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  MetaspaceDecoder(std::string replacement, bool prepended)
      : replacement_(std::move(replacement)), prepended_(prepended) {}
  void apply(Tokens& tokens, MatchSpace&) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], replacement_, i == 0 && prepended_ ? "" : " ");
  }

 private:
  std::string replacement_;
  bool prepended_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(Tokens& tokens, MatchSpace& space) const override {
    for (std::string& token : tokens) token = replaced(token, pattern_, content_, space);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

/// <0xE2> and its like become the bytes that they name, where these are UTF-8; else U+FFFD each.
class ByteFallback final : public Decoder {
 public:
  void apply(Tokens& tokens, MatchSpace&) const override {
    Tokens out;
    std::string bytes;
    const auto flush = [&] {
      // A replacement character of the text itself is as good as one that stands for a byte: then
      // the bytes are sound too.
      if (bytes.empty()) return;
      if (with_replacements(bytes) == bytes)
        out.push_back(bytes);
      else
        out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = byte_of(token)) {
        bytes.push_back(static_cast<char>(*byte));
        continue;
      }
      flush();
      out.push_back(std::move(token));
    }
    flush();
    tokens = std::move(out);
  }

 private:
  static std::optional<unsigned char> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>'))
      return std::nullopt;
    // Rust's numbers may have a sign.
    std::string_view digits = token.substr(3, 2);
    if (digits[0] == '+') digits.remove_prefix(1);
    unsigned char byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return byte;
  }
};

class Fuse final : public Decoder {
 public:
  void apply(Tokens& tokens, MatchSpace&) const override { tokens = {joined(tokens)}; }
};

class StripDecoder final : public Decoder {
 public:
  StripDecoder(std::string content, std::int64_t start, std::int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(Tokens& tokens, MatchSpace&) const override {
    for (std::string& token : tokens) {
      std::size_t begin = 0, end = token.size();
      for (std::int64_t i = 0;
           i < start_ && std::string_view(token).substr(begin).starts_with(content_); ++i)
        begin += content_.size();
      for (std::int64_t i = 0;
           i < stop_ && end > begin &&
           std::string_view(token).substr(begin, end - begin).ends_with(content_);
           ++i)
        end -= content_.size();
      token = token.substr(begin, end - begin);
    }
  }

 private:
  std::string content_;
  std::int64_t start_, stop_;
};

class SequenceDecoder final : public Decoder {
 public:
  explicit SequenceDecoder(const std::vector<Component>& components) {
    for (const Component& c : components) all_.push_back(make_decoder(c));
  }
  void apply(Tokens& tokens, MatchSpace& space) const override {
    for (const auto& decoder : all_) decoder->apply(tokens, space);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> all_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Component& c) {
  const std::string& type = c.type();
  if (type == "ByteLevel") {
    c.allow({"add_prefix_space", "trim_offsets", "use_regex"});  // of the way there
    return std::make_unique<ByteLevelDecoder>();
  }
  if (type == "WordPiece") {
    c.allow({"prefix", "cleanup"});
    return std::make_unique<WordPieceDecoder>(c.text("prefix", "##"), c.flag("cleanup", true));
  }
  if (type == "BPEDecoder") {
    c.allow({"suffix"});
    return std::make_unique<BpeDecoder>(c.text("suffix", "</w>"));
  }
  if (type == "Metaspace") {
    c.allow({"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
    return std::make_unique<MetaspaceDecoder>(
        c.text("replacement"),
        c.text("prepend_scheme", "always") != "never" && c.flag("add_prefix_space", true));
  }
  if (type == "Replace") {
    c.allow({"pattern", "content"});
    return std::make_unique<ReplaceDecoder>(make_pattern(c), c.text("content"));
  }
  if (type == "ByteFallback") {
    c.allow({});
    return std::make_unique<ByteFallback>();
  }
  if (type == "Fuse") {
    c.allow({});
    return std::make_unique<Fuse>();
  }
  if (type == "Strip") {
    c.allow({"content", "start", "stop"});
    if (count_code_points(c.text("content")) != 1) c.refuse("is no single character", "content");
    constexpr std::int64_t most = 1 << 20;
    return std::make_unique<StripDecoder>(c.text("content"), c.number("start", 0, 0, most),
                                          c.number("stop", 0, 0, most));
  }
  if (type == "Sequence") {
    c.allow({"decoders"});
    return std::make_unique<SequenceDecoder>(c.parts("decoders"));
  }
  c.refuse_type("decoder", {"ByteLevel", "WordPiece", "BPEDecoder", "Metaspace", "Replace",
                            "ByteFallback", "Fuse", "Strip", "Sequence"});
}

}  // namespace trainx::tokenizer
