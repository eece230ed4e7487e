#include "tokenizer/pattern/pattern.hpp"
#include "core/error.hpp"
#include "tokenizer/pattern/syntax.hpp"
#include "yaml/problems.hpp"
#include <cstdio>
#include <new>
#include <utility>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace trainx::tokenizer {
namespace {

// bytes of backtracking: what a match may need on a text of many megabytes
constexpr std::size_t largest_stack = std::size_t{64} << 20;

std::string bracket_of(const CodePointCodes::Codes& codes) {
  if (codes.none()) return "(?!)";
  std::string out = "[";
  for (std::size_t code = 0; code < codes.size(); ++code) {
    if (!codes[code]) continue;
    char text[8];
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned>(code));
    out += text;
  }
  return out + "]";
}

std::string message_of(int error) {
  char text[256] = "";
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

}  // namespace

void MatchSpace::make() {
  data_ = pcre2_match_data_create(1, nullptr);
  stack_ = pcre2_jit_stack_create(32 << 10, largest_stack, nullptr);
  context_ = pcre2_match_context_create(nullptr);
  if (!data_ || !stack_ || !context_) throw std::bad_alloc();
  pcre2_jit_stack_assign(context_, nullptr, stack_);
  // Steps of one match: those of a long text are many, and those of a pattern that tries everything
  // come to an end.
  pcre2_set_match_limit(context_, 200'000'000);
}

MatchSpace::~MatchSpace() {
  pcre2_match_context_free(context_);
  pcre2_jit_stack_free(stack_);
  pcre2_match_data_free(data_);
}

Pattern Pattern::expression(const std::string& text, const std::string& place) {
  return {parse_pattern(text, place), text, place};
}

Pattern Pattern::literal(const std::string& text, const std::string& place) {
  PatternParts parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t c = next_code_point(text, at);
    parts.parts.push_back({"", static_cast<int>(parts.sets.size())});
    parts.sets.emplace_back().add(c, c);
  }
  return {std::move(parts), text, place};
}

Pattern::Pattern(PatternParts parts, const std::string& text, const std::string& place)
    : place_(place) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(ExitCode::bad_data, place + ": the pattern " + yaml::excerpt(text) + " " + why);
  };
  if (!codes_.split_by(parts.sets))
    refuse("tells more than 256 kinds of characters apart, which trainx does not support");
  std::string in_codes;
  for (const PatternParts::Part& part : parts.parts)
    in_codes += part.set < 0
                    ? part.syntax
                    : bracket_of(codes_.codes_of(parts.sets[static_cast<std::size_t>(part.set)]));
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(in_codes.data()), in_codes.size(), 0,
                            &error, &offset, nullptr);
  if (!compiled_) refuse("cannot be compiled: " + message_of(error));
  std::uint32_t matches_nothing = 0;
  pcre2_pattern_info(compiled_, PCRE2_INFO_MATCHEMPTY, &matches_nothing);
  std::string why;
  if (matches_nothing)
    why = "matches the empty text, which splits nothing";
  else if (const int status = pcre2_jit_compile(compiled_, PCRE2_JIT_COMPLETE);
           status != 0 && status != PCRE2_ERROR_JIT_BADOPTION)
    why = "cannot be compiled: " + message_of(status);
  if (why.empty()) return;
  pcre2_code_free(compiled_);
  refuse(why);
}

Pattern::Pattern(Pattern&& other) noexcept
    : codes_(std::move(other.codes_)),
      compiled_(std::exchange(other.compiled_, nullptr)),
      place_(std::move(other.place_)) {}

Pattern::~Pattern() {
  if (compiled_) pcre2_code_free(compiled_);
}

bool Pattern::find(MatchSpace& space, std::size_t from, std::size_t& begin,
                   std::size_t& end) const {
  if (from >= space.codes_.size()) return false;
  if (!space.context_) space.make();
  const int status = pcre2_match(compiled_, reinterpret_cast<PCRE2_SPTR>(space.codes_.data()),
                                 space.codes_.size(), from, PCRE2_NO_UTF_CHECK, space.data_,
                                 space.context_);
  if (status == PCRE2_ERROR_NOMATCH) return false;
  if (status < 0)
    throw UserError(ExitCode::bad_data, place_ + ": the pattern gives up on a text of " +
                                            std::to_string(space.codes_.size()) +
                                            " characters: " + message_of(status));
  const PCRE2_SIZE* at = pcre2_get_ovector_pointer(space.data_);
  begin = at[0];
  end = at[1];
  return true;
}

}  // namespace trainx::tokenizer
