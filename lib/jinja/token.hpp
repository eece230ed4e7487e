#pragma once
#include "jinja/value.hpp"
#include <cstddef>
#include <string>
#include <vector>

namespace trainx::jinja {

enum class TokenKind {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  text,
  integer,
  real,
  op,
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  // of data, names, texts and operators
  Value number;
  std::size_t line = 1;

  bool is_op(const char* what) const { return kind == TokenKind::op && text == what; }
  bool is_name(const char* what) const { return kind == TokenKind::name && text == what; }
};

/// With the settings of Hugging Face's chat templates: the line end behind a block is removed, and
/// the blanks before one on its line; so is the last line end. Throws TemplateError.
std::vector<Token> read_tokens(const std::string& source);

}  // namespace trainx::jinja
