#include "launch/line_reader.hpp"
#include "support/catch.hpp"
#include <fcntl.h>
#include <vector>

namespace line_reader_test {

using namespace trainx;
using Lines = std::vector<std::string>;

namespace {

struct Pipe {
  Lines lines;
  Descriptor writing;
  launch::LineReader reader = make();
  launch::LineReader::Use use = [this](std::string_view line) { lines.emplace_back(line); };
  launch::LineReader make() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    writing = Descriptor(ends[1]);
    return launch::LineReader(Descriptor(ends[0]));
  }
  void write(const std::string& text) const {
    REQUIRE(::write(writing.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  Lines read() {
    reader.read(use);
    return std::exchange(lines, {});
  }
};

}  // namespace

TEST_CASE("lines come whole, however they were written") {
  Pipe pipe;
  CHECK(pipe.read().empty());
  pipe.write("one\ntw");
  CHECK(pipe.read() == Lines{"one"});
  pipe.write("o\n\nthr");
  CHECK(pipe.read() == Lines{"two", ""});
  pipe.writing.close();
  CHECK(pipe.read() == Lines{"thr"});
  CHECK(pipe.reader.descriptor() == -1);
  CHECK(pipe.read().empty());
}

TEST_CASE(
    "a line without an end is handed out in pieces, and at the end though others hold the pipe") {
  Pipe pipe;
  for (const std::size_t size : {16383, 16384, 16385, 40000}) {
    INFO(size);
    pipe.write(std::string(size, 'x') + "\n");
    std::string all;
    for (const std::string& piece : pipe.read()) all += piece;
    CHECK(all == std::string(size, 'x'));
  }
  pipe.write("no end");
  pipe.reader.finish(pipe.use);
  CHECK(pipe.lines == Lines{"no end"});
  CHECK(pipe.reader.descriptor() == -1);
}

}  // namespace line_reader_test
