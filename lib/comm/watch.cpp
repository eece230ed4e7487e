#include "comm/watch.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::comm {
namespace {

std::string with_seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", s);
  return text;
}

std::string last_at(const std::string& at) { return at.empty() ? "" : ", last at " + at; }
std::string while_waiting(const std::string& waiting) {
  return waiting.empty() ? "" : ", while " + waiting;
}
constexpr const char* go_on =
    "; see that process's output for why, and run the same command again to go on from the newest "
    "checkpoint";

}  // namespace

Failure lost_failure(const std::string& name, const std::string& at, const std::string& waiting) {
  return {ExitCode::peer_lost, name + " is lost: its process ended without a word" + last_at(at) +
                                   while_waiting(waiting) + go_on};
}

Failure stopped_failure(const std::string& name, const std::string& at, double silent_seconds,
                        const std::string& waiting) {
  return {ExitCode::hang, name + " is stopped or out of reach: nothing was heard of it for " +
                              with_seconds(silent_seconds) + last_at(at) + while_waiting(waiting) +
                              "; see whether its process was stopped and its host is up, and run "
                              "the same command again to go on from the newest checkpoint"};
}

Watch::Watch(std::vector<std::string> names, double hang_seconds, Time now)
    : hang_seconds_(hang_seconds), looked_(now) {
  for (std::string& name : names)
    ranks_.push_back({.name = std::move(name), .pulse = {}, .heard = now, .since = now});
}

void Watch::heard(int rank, Pulse pulse, Time now) {
  Rank& r = ranks_.at(rank);
  if (pulse.done != r.pulse.done || pulse.waits_for_peers != r.pulse.waits_for_peers ||
      pulse.busy != r.pulse.busy)
    r.since = now;
  r.pulse = std::move(pulse);
  r.heard = now;
}

std::optional<Failure> Watch::look(Time now) {
  if (now - looked_ > late)
    for (Rank& r : ranks_) r.heard = r.since = now;
  looked_ = now;
  if (hang_seconds_ <= 0) return std::nullopt;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (const Rank& r = ranks_[i]; now - r.heard >= seconds(silent_share * hang_seconds_))
      return stopped_failure(r.name, r.pulse.at,
                             std::chrono::duration<double>(now - r.heard).count(), waiting(i));
  return stands_still(now);
}

std::optional<Failure> Watch::stands_still(Time now) const {
  const auto hang = seconds(hang_seconds_);
  Time first_waiter = now;  // since when somebody waits
  bool all_wait = true;
  for (const Rank& r : ranks_) {
    if (r.pulse.waits_for_peers) first_waiter = std::min(first_waiter, r.since);
    // who works at something else will come
    all_wait &= r.pulse.waits_for_peers && r.pulse.busy.empty();
  }
  if (all_wait) {
    if (!std::ranges::all_of(ranks_, [&](const Rank& r) { return now - r.since >= hang; }))
      return std::nullopt;
    std::string each;
    for (const Rank& r : ranks_)
      each += (each.empty() ? "" : ", ") + r.name + (r.pulse.at.empty() ? "" : " at " + r.pulse.at);
    return Failure{
        ExitCode::hang,
        "all ranks wait for each other and none has moved for " + with_seconds(hang_seconds_) +
            ": " + each +
            "; raise run.hang_limit if a micro-step may take so long, else please report this"};
  }
  // A rank may compute for as long as it likes while nobody needs it: the clock runs only while
  // somebody waits.
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (const Rank& r = ranks_[i]; !r.pulse.waits_for_peers && r.pulse.busy.empty() &&
                                   now - std::max(r.since, first_waiter) >= hang)
      return Failure{ExitCode::hang,
                     r.name + " stands still: it has not moved for " +
                         with_seconds(std::chrono::duration<double>(now - r.since).count()) +
                         last_at(r.pulse.at) + while_waiting(waiting(i)) +
                         "; see what that process does, or raise run.hang_limit (" +
                         with_seconds(hang_seconds_) + ") if it is right to take so long"};
  return std::nullopt;
}

std::string Watch::waiting(std::size_t other_than) const {
  constexpr int most_named = 2;
  std::string words;
  int count = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (!ranks_[r].pulse.waits_for_peers || r == other_than) continue;
    if (++count <= most_named)
      words += (words.empty() ? "rank " : ", rank ") + std::to_string(r) + " waits" +
               (ranks_[r].pulse.at.empty() ? "" : " at " + ranks_[r].pulse.at);
  }
  return count > most_named ? words + " and " + std::to_string(count - most_named) + " more wait"
                            : words;
}

Failure Watch::lost(int rank) const {
  const Rank& r = ranks_.at(rank);
  return lost_failure(r.name, r.pulse.at, waiting(rank));
}

}  // namespace trainx::comm
