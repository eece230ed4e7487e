// Ranks of a run as real processes, forked from a test. Each says one text, or the error that ended
// it; a time limit makes a hang a failure.
#pragma once
#include "core/error.hpp"
#include "comm/control.hpp"
#include "comm/socket.hpp"
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

struct RankEnd {
  int code = -1;       // of the exit; -1: none
  int signal = 0;      // that ended it
  std::string said;    // what the body returned, or "82: sentence"
  double seconds = 0;  // after the start
};

class ForkedRanks {
 public:
  using Body = std::function<std::string(const trainx::comm::Membership&)>;
  /// `change`: of a rank's membership before it runs, e.g. a wrong secret.
  ForkedRanks(int world_size, const Body& body,
              const std::function<void(trainx::comm::Membership&)>& change = {})
      : start_(std::chrono::steady_clock::now()) {
    auto listener = trainx::comm::listen_at("127.0.0.1", 0);
    port_ = trainx::comm::port_of(listener);
    for (int r = 0; r < world_size; ++r) {
      trainx::comm::Membership m{.rank = r,
                                 .world_size = world_size,
                                 .local_rank = r,
                                 .local_world_size = world_size,
                                 .port = port_,
                                 .run_id = "this run",
                                 .secret = "5ec7e7",
                                 .launcher = "trainx"};
      if (r == 0) m.listener = listener.get();
      if (change) change(m);
      start(m, body, listener);
    }
  }
  ~ForkedRanks() {
    for (Rank& r : ranks_)
      if (r.pid > 0) {
        ::kill(r.pid, SIGKILL);
        ::waitpid(r.pid, nullptr, 0);
      }
    for (Rank& r : ranks_) ::close(r.pipe);
  }
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  int port() const { return port_; }
  pid_t pid(int rank) const { return ranks_[rank].pid; }
  void signal(int rank, int number) { ::kill(ranks_[rank].pid, number); }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// Those that have not ended by then are killed, and count as ended by signal 9, saying "too
  /// slow".
  std::vector<RankEnd> wait(double limit_seconds) {
    std::vector<RankEnd> ends;
    for (Rank& r : ranks_) ends.push_back(wait_for(r, limit_seconds));
    return ends;
  }
  RankEnd wait_for_one(int rank, double limit_seconds) {
    return wait_for(ranks_[rank], limit_seconds);
  }

 private:
  struct Rank {
    pid_t pid = 0;
    int pipe = -1;
  };
  void start(const trainx::comm::Membership& m, const Body& body,
             const trainx::Descriptor& listener) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t parent = ::getpid(), child = ::fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(99);
      ::close(ends[0]);
      if (m.listener < 0) ::close(listener.get());
      run(m, body, ends[1]);
    }
    ::close(ends[1]);
    ranks_.push_back({child, ends[0]});
  }
  [[noreturn]] static void run(const trainx::comm::Membership& m, const Body& body, int out) {
    std::string said;
    int code = 0;
    try {
      said = body(m);
    } catch (const trainx::UserError& e) {
      code = static_cast<int>(e.code());
      said = std::to_string(code) + ": " + e.what();
    } catch (const std::exception& e) {
      code = 1;
      said = std::string("bug: ") + e.what();
    }
    for (std::size_t done = 0; done < said.size();) {
      const ssize_t n = ::write(out, said.data() + done, said.size() - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    ::_exit(code);
  }
  RankEnd wait_for(Rank& rank, double limit) {
    RankEnd end;
    pollfd p{rank.pipe, POLLIN, 0};
    for (;;) {  // the pipe ends with the process
      const double left = limit - seconds();
      if (left <= 0 || ::poll(&p, 1, static_cast<int>(left * 1000) + 1) == 0) {
        ::kill(rank.pid, SIGKILL);
        end.said += " (too slow)";
        break;
      }
      char piece[4096];
      const ssize_t n = ::read(rank.pipe, piece, sizeof piece);
      if (n <= 0) break;
      end.said.append(piece, static_cast<std::size_t>(n));
    }
    int status = 0;
    ::waitpid(rank.pid, &status, 0);
    rank.pid = 0;
    end.seconds = seconds();
    if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    return end;
  }

  std::chrono::steady_clock::time_point start_;
  int port_ = 0;
  std::vector<Rank> ranks_;
};
