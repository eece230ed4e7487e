#pragma once
#include "jinja/error.hpp"
#include <cstddef>
#include <cstdint>

namespace trainx::jinja {

/// Templates come from anywhere: what one rendering may take.
struct Limits {
  std::int64_t steps = 20'000'000;               // expressions and statements
  std::int64_t bytes = std::int64_t{512} << 20;  // of all texts and lists that are made
  int depth = 1000;                              // of nested evaluations
};

/// What is left of the limits of one rendering.
class Budget {
 public:
  explicit Budget(const Limits& limits) : left_(limits) {}
  void step() {
    if (--left_.steps < 0) exceeded("steps");
  }
  void take(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(left_.bytes)) exceeded("memory");
    left_.bytes -= static_cast<std::int64_t>(bytes);
  }
  /// Elements of a list, or work that grows with them.
  void take_items(std::size_t count) {
    constexpr std::size_t bytes_of_a_value = 48;
    if (count > static_cast<std::size_t>(left_.bytes) / bytes_of_a_value) exceeded("memory");
    take(count * bytes_of_a_value);
  }

  /// One level deeper, as long as this lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (--budget_.left_.depth < 0) {
        ++budget_.left_.depth;
        budget_.exceeded("levels of nesting");
      }
    }
    ~Level() { ++budget_.left_.depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  [[noreturn]] static void exceeded(const char* what) {
    throw TemplateError(Problem::limit, std::string("the template takes too many ") + what +
                                            ", as no chat template does");
  }
  Limits left_;
};

}  // namespace trainx::jinja
