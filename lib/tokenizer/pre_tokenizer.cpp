#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/normalizer.hpp"
#include "tokenizer/split_behavior.hpp"

namespace trainx::tokenizer {
namespace {

class Split final : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void split(const Piece& piece, Pieces& out, Made&, MatchSpace& space) const override {
    std::vector<Span> spans;
    std::size_t done = 0;
    const auto add = [&](std::size_t end, bool match) {
      if (end == done) return;
      if (behavior_ == SplitBehavior::isolated)
        out.push_back({piece.text.substr(done, end - done), piece.begins_text && done == 0});
      else
        spans.push_back({done, end, match != invert_});
      done = end;
    };
    pattern_.for_each_match(piece.text, space, [&](std::size_t begin, std::size_t end) {
      add(begin, false);
      add(end, true);
    });
    add(piece.text.size(), false);
    split_spans(piece, spans, behavior_, out);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

/// Each code point of a set is a delimiter.
class SplitSet final : public PreTokenizer {
 public:
  SplitSet(CodePointClass set, SplitBehavior behavior) : set_(set_of(set)), behavior_(behavior) {}

  void split(const Piece& piece, Pieces& out, Made&, MatchSpace&) const override {
    std::vector<Span> spans;
    std::size_t done = 0;
    for (std::size_t at = 0; at < piece.text.size();) {
      const std::size_t begin = at;
      if (!set_.contains(next_code_point(piece.text, at))) continue;
      if (begin > done) spans.push_back({done, begin, false});
      spans.push_back({begin, at, true});
      done = at;
    }
    if (done < piece.text.size()) spans.push_back({done, piece.text.size(), false});
    split_spans(piece, spans, behavior_, out);
  }

 private:
  const CodePointSet& set_;
  SplitBehavior behavior_;
};

/// Runs of code points that `kind` says to be the same; those of kind 0 are left out, those of kind
/// 1 are pieces by themselves.
template <class Kind>
void split_runs(const Piece& piece, Pieces& out, Kind&& kind) {
  const auto put = [&](std::size_t begin, std::size_t end) {
    out.push_back({piece.text.substr(begin, end - begin), piece.begins_text && begin == 0});
  };
  std::size_t begin = 0;
  int running = 0;
  for (std::size_t at = 0; at < piece.text.size();) {
    const std::size_t here = at;
    const int now = kind(next_code_point(piece.text, at));
    if (now == running && now != 1) continue;
    if (running != 0) put(begin, here);
    begin = here;
    running = now;
  }
  if (running != 0) put(begin, piece.text.size());
}

class BertPreTokenizer final : public PreTokenizer {
 public:
  void split(const Piece& piece, Pieces& out, Made&, MatchSpace&) const override {
    split_runs(piece, out, [&](std::uint32_t c) {
      return space_.contains(c) ? 0 : punctuation_.contains(c) ? 1 : 2;
    });
  }

 private:
  const CodePointSet &space_ = set_of(CodePointClass::space),
                     &punctuation_ = set_of(CodePointClass::punctuation);
};

/// Words, and what is neither word nor white space.
class Whitespace final : public PreTokenizer {
 public:
  void split(const Piece& piece, Pieces& out, Made&, MatchSpace&) const override {
    split_runs(piece, out, [&](std::uint32_t c) {
      return word_.contains(c) ? 3 : space_.contains(c) ? 0 : 2;
    });
  }

 private:
  const CodePointSet &space_ = set_of(CodePointClass::space), &word_ = set_of(CodePointClass::word);
};

/// GPT-2's cut (Radford et al. 2019), or none; afterwards pieces are bytes.
class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex, const std::string& place)
      : add_prefix_space_(add_prefix_space) {
    if (use_regex)
      cut_ = std::make_unique<Split>(
          Pattern::expression(
              R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
              place),
          SplitBehavior::isolated, false);
  }

  bool as_bytes() const override { return true; }
  void split(const Piece& piece, Pieces& out, Made& made, MatchSpace& space) const override {
    Piece whole = piece;
    if (add_prefix_space_ && !piece.text.starts_with(' '))
      whole.text = made.keep(" " + std::string(piece.text));
    if (cut_)
      cut_->split(whole, out, made, space);
    else
      out.push_back(whole);
  }

 private:
  bool add_prefix_space_;
  std::unique_ptr<Split> cut_;
};

class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  enum class Scheme : std::uint8_t { first, never, always };
  MetaspacePreTokenizer(std::string replacement, Scheme scheme, bool split,
                        const std::string& place)
      : replacement_(std::move(replacement)),
        scheme_(scheme),
        space_(Pattern::literal(" ", place)) {
    if (split)
      cut_ = std::make_unique<Split>(Pattern::literal(replacement_, place),
                                     SplitBehavior::merged_with_next, false);
  }

  void split(const Piece& piece, Pieces& out, Made& made, MatchSpace& space) const override {
    std::string text = replaced(piece.text, space_, replacement_, space);
    const bool prepend = scheme_ == Scheme::always ||
                         (scheme_ == Scheme::first && piece.begins_text);
    if (prepend && !text.starts_with(replacement_)) text.insert(0, replacement_);
    const Piece whole{made.keep(std::move(text)), piece.begins_text};
    if (cut_)
      cut_->split(whole, out, made, space);
    else
      out.push_back(whole);
  }

 private:
  std::string replacement_;
  Scheme scheme_;
  Pattern space_;
  std::unique_ptr<Split> cut_;
};

class SequencePreTokenizer final : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(const std::vector<Component>& components) {
    for (const Component& c : components) {
      if (as_bytes()) c.refuse("follows ByteLevel, which trainx supports as the last one alone");
      all_.push_back(make_pre_tokenizer(c));
    }
  }
  bool as_bytes() const override { return !all_.empty() && all_.back()->as_bytes(); }
  void split(const Piece& piece, Pieces& out, Made& made, MatchSpace& space) const override {
    Pieces now{piece}, next;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool last = i + 1 == all_.size();
      Pieces& to = last ? out : next;
      for (const Piece& part : now) all_[i]->split(part, to, made, space);
      if (last) return;
      std::swap(now, next);
      next.clear();
    }
    out.push_back(piece);  // an empty list cuts nothing
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> all_;
};

std::unique_ptr<PreTokenizer> make_metaspace(const Component& c) {
  c.allow({"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  const std::string replacement = c.text("replacement"),
                    scheme = c.text("prepend_scheme", "always");
  if (count_code_points(replacement) != 1) c.refuse("is no single character", "replacement");
  auto which = scheme == "always"  ? MetaspacePreTokenizer::Scheme::always
               : scheme == "first" ? MetaspacePreTokenizer::Scheme::first
                                   : MetaspacePreTokenizer::Scheme::never;
  if (scheme != "always" && scheme != "first" && scheme != "never")
    c.refuse("is not always, first or never", "prepend_scheme");
  if (!c.flag("add_prefix_space", true)) which = MetaspacePreTokenizer::Scheme::never;
  return std::make_unique<MetaspacePreTokenizer>(replacement, which, c.flag("split", true),
                                                 c.place());
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Component& c) {
  const std::string& type = c.type();
  if (type == "BertPreTokenizer") {
    c.allow({});
    return std::make_unique<BertPreTokenizer>();
  }
  if (type == "Whitespace") {
    c.allow({});
    return std::make_unique<Whitespace>();
  }
  if (type == "WhitespaceSplit") {
    c.allow({});
    return std::make_unique<SplitSet>(CodePointClass::space, SplitBehavior::removed);
  }
  if (type == "Punctuation") {
    c.allow({"behavior"});
    return std::make_unique<SplitSet>(CodePointClass::punctuation,
                                      split_behavior_of(c, "behavior", SplitBehavior::isolated));
  }
  if (type == "Digits") {
    c.allow({"individual_digits"});
    return std::make_unique<SplitSet>(CodePointClass::numeric, c.flag("individual_digits", false)
                                                                   ? SplitBehavior::isolated
                                                                   : SplitBehavior::contiguous);
  }
  if (type == "ByteLevel") {
    c.allow({"add_prefix_space", "trim_offsets", "use_regex"});  // trim_offsets moves no token
    return std::make_unique<ByteLevelPreTokenizer>(c.flag("add_prefix_space", true),
                                                   c.flag("use_regex", true), c.place());
  }
  if (type == "Split") {
    c.allow({"pattern", "behavior", "invert"});
    if (!c.has("behavior")) c.refuse("is missing", "behavior");
    return std::make_unique<Split>(make_pattern(c),
                                   split_behavior_of(c, "behavior", SplitBehavior::isolated),
                                   c.flag("invert", false));
  }
  if (type == "Metaspace") return make_metaspace(c);
  if (type == "Sequence") {
    c.allow({"pretokenizers"});
    return std::make_unique<SequencePreTokenizer>(c.parts("pretokenizers"));
  }
  c.refuse_type("pre-tokenizer",
                {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits",
                 "ByteLevel", "Split", "Metaspace", "Sequence"});
}

}  // namespace trainx::tokenizer
