#include "core/output_queue.hpp"
#include "support/catch.hpp"
#include <fcntl.h>
#include <sys/socket.h>
#include <array>
#include <csignal>
#include <thread>

namespace output_queue_test {

using namespace trainx;

namespace {

std::string left_out(std::int64_t lines) { return "<" + std::to_string(lines) + ">\n"; }

/// Two ends that nobody has set to not wait.
struct Ends {
  Descriptor reading, writing;
  static Ends pipe() {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }
  static Ends socket() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }
  std::string read() const {
    std::array<char, 65536> bytes{};
    const ssize_t n = ::read(reading.get(), bytes.data(), bytes.size());
    REQUIRE(n >= 0);
    return {bytes.data(), static_cast<std::size_t>(n)};
  }
};

std::string line(int number) {
  std::string text = std::to_string(number);
  return text.append(99 - text.size(), '.') + "\n";
}

}  // namespace

TEST_CASE("lines for a reader that reads are written at once") {
  const Ends ends = Ends::pipe();
  OutputQueue queue(ends.writing.get(), 1000, left_out);
  queue.put("one\n");
  CHECK(queue.write());
  CHECK_FALSE(queue.pending());
  CHECK(ends.read() == "one\n");
}

TEST_CASE("nobody reads: no call waits, the newest lines are kept and the others counted") {
  const Ends ends = GENERATE(0, 1) == 0 ? Ends::pipe() : Ends::socket();
  OutputQueue queue(ends.writing.get(), 10'000, left_out);
  constexpr int lines = 20'000;  // of 100 bytes: more than a pipe or a socket takes
  for (int i = 0; i < lines; ++i) {
    queue.put(line(i));
    queue.write();
  }
  CHECK(queue.pending());
  CHECK(queue.unwritten_lines() > lines / 2);

  std::string all;
  while (queue.pending()) {
    all += ends.read();
    queue.write();
  }
  while (all.find(line(lines - 1)) == std::string::npos) all += ends.read();
  const std::size_t mark = all.find('<');
  REQUIRE(mark != std::string::npos);
  const int missing = std::stoi(all.substr(mark + 1));
  const int first_after = std::stoi(all.substr(all.find('\n', mark) + 1));
  CHECK(all.rfind('<') == mark);
  CHECK(first_after == lines - 100);  // 10,000 bytes
  CHECK(mark == static_cast<std::size_t>(first_after - missing) * 100);
}

TEST_CASE("a picture is left out while something waits, and cleared before the next line") {
  const Ends ends = Ends::pipe();
  OutputQueue queue(ends.writing.get(), 1'000'000, left_out);
  for (int i = 0; i < 1000; ++i) queue.put(line(i)), queue.write();
  REQUIRE(queue.pending());
  queue.put("\rpicture");
  queue.put("last\n");
  std::string all;
  while (all.find("last\n") == std::string::npos) all += ends.read(), queue.write();
  CHECK(all.find("picture") == std::string::npos);
  CHECK(all.ends_with("\r\033[Klast\n"));
}

TEST_CASE("at the end a reader has so much time, from what it took last") {
  using namespace std::chrono_literals;
  const Ends ends = Ends::pipe();
  OutputQueue queue(ends.writing.get(), 1'000'000, left_out);
  for (int i = 0; i < 3000; ++i) queue.put(line(i));
  SECTION("nobody reads") {
    CHECK_FALSE(queue.finish(20ms));
    CHECK_FALSE(queue.pending());
  }
  SECTION("somebody reads slowly") {
    std::size_t taken = 0;
    std::thread reader([&] {
      while (taken < 300'000) {
        std::this_thread::sleep_for(20ms);
        taken += ends.read().size();
      }
    });
    CHECK(queue.finish(10s));
    reader.join();
    CHECK(taken == 300'000);
  }
}

TEST_CASE("a reader that went away takes everything") {
  std::signal(SIGPIPE, SIG_IGN);
  Ends ends = Ends::pipe();
  OutputQueue queue(ends.writing.get(), 1000, left_out);
  ends.reading.close();
  queue.put("one\n");
  CHECK(queue.write());
  CHECK_FALSE(queue.pending());
}

}  // namespace output_queue_test
