#include "corpus/chat/jinja.hpp"
#include "core/error.hpp"
#if TRAINX_WITH_MINJA
#include <minja.hpp>
#endif

namespace trainx::corpus {

#if TRAINX_WITH_MINJA

struct Jinja::Parsed {
  std::shared_ptr<minja::TemplateNode> root;
  std::shared_ptr<minja::Context> builtins;
};

namespace {

/// The first line of what minja says: further ones draw the place.
std::string first_line(const std::exception& problem) {
  const std::string text = problem.what();
  std::string line = text.substr(0, text.find('\n'));
  if (line.ends_with(':')) line.pop_back();
  return line;
}

}  // namespace

Jinja::Jinja(const std::string& text, std::string place) : place_(std::move(place)) {
  constexpr std::size_t largest = std::size_t{256} << 10;  // the largest known are a tenth of it
  if (text.size() > largest)
    throw UserError(ExitCode::bad_data, place_ + " has more than 256 KiB: no chat template does");
  const minja::Options options{
      .trim_blocks = true, .lstrip_blocks = true, .keep_trailing_newline = false};
  try {
    parsed_ = std::make_unique<Parsed>(
        Parsed{minja::Parser::parse(text, options), minja::Context::builtins()});
  } catch (const std::exception& problem) {
    throw UserError(ExitCode::bad_data,
                    place_ + " cannot be read as a Jinja template: " + first_line(problem));
  }
}

std::string Jinja::render(const nlohmann::ordered_json& variables) const {
  try {
    return parsed_->root->render(minja::Context::make(minja::Value(variables), parsed_->builtins));
  } catch (const std::exception& problem) {
    throw UserError(ExitCode::bad_data, place_ + " refuses it: " + first_line(problem));
  }
}

#else

struct Jinja::Parsed {};

Jinja::Jinja(const std::string&, std::string place) : place_(std::move(place)) {
  throw UserError(ExitCode::unavailable,
                  place_ +
                      " is a Jinja template, and this trainx was built without minja, which reads "
                      "them: run scripts/setup and build again, or give lines with prompt and "
                      "completion instead of messages");
}

std::string Jinja::render(const nlohmann::ordered_json&) const { return {}; }

#endif

Jinja::~Jinja() = default;

}  // namespace trainx::corpus
