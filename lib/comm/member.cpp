#include "comm/member.hpp"
#include "comm/failed_elsewhere.hpp"
#include "comm/waits.hpp"
#include <poll.h>
#include <algorithm>

namespace trainx::comm {
namespace {

// for rank 0 to hear of this rank's end; it may be the one that hangs
constexpr auto hearing_time = std::chrono::seconds(1);

HostRanks hosts_of(const std::vector<Identity>& members) {
  std::vector<std::string> boot_ids;
  for (const Identity& m : members) boot_ids.push_back(m.boot_id);
  return ranks_by_host(boot_ids);
}

std::vector<std::string> addresses_of(const std::vector<Identity>& members) {
  std::vector<std::string> addresses;
  for (const Identity& m : members) addresses.push_back(m.address);
  return addresses;
}

}  // namespace

Member::Member(const Membership& membership, ControlOptions options, Joined joined,
               std::unique_ptr<Hub> hub)
    : Control(membership),
      options_(std::move(options)),
      members_(std::move(joined.members)),
      hosts_(hosts_of(members_)),
      addresses_(addresses_of(members_)),
      hub_(std::move(hub)),
      connection_(std::move(joined.connection)),
      heard_rank_0_(Clock::now()),
      thread_([this] { run(); }) {}

Member::~Member() {
  stopping_ = true;
  wake_.wake();
  thread_.join();
  connection_.close();
}

void Member::run() {
  try {
    listen();
  } catch (const std::exception& e) {
    std::unique_lock lock(mutex_);
    connection_.close();
    store({ExitCode::bug, std::string("the connection to rank 0 ended: ") + e.what()}, lock);
  }
}

void Member::listen() {
  Time next_pulse = Clock::now(), turned = next_pulse;
  while (!stopping_) {
    if (Clock::now() >= next_pulse) {
      send_pulse();
      next_pulse = Clock::now() + beat_period;
    }
    pollfd polled[2] = {{wake_.fd(), POLLIN, 0}, {}};
    {
      const std::lock_guard lock(mutex_);
      polled[1] = {connection_.fd(),
                   static_cast<short>(POLLIN | (connection_.has_unsent() ? POLLOUT : 0)), 0};
    }
    ::poll(polled, 2, poll_ms(next_pulse));
    wake_.clear();
    const Time now = Clock::now();
    // this process was away: it cannot tell how long rank 0 was silent
    if (now - turned > late) heard_rank_0_ = now;
    turned = now;
    std::unique_lock lock(mutex_);
    hear(lock);
  }
}

void Member::send_pulse() {
  std::string at = options_.describe ? options_.describe() : "";
  const char* busy = progress_.busy;
  const std::string pulse = ByteWriter()
                                .put(progress_.done)
                                .put(progress_.waiting > 0)
                                .put(std::string_view(busy ? busy : ""))
                                .put(at)
                                .take();
  const std::lock_guard lock(mutex_);
  connection_.put(MessageKind::pulse, pulse);
  at_ = std::move(at);
}

void Member::hear(std::unique_lock<std::mutex>& lock) {
  if (!connection_.is_open()) return;
  connection_.flush();
  connection_.receive();
  while (const auto message = connection_.next()) take(*message, lock);
  find_rank_0_lost(lock);
}

void Member::take(const Message& message, std::unique_lock<std::mutex>& lock) {
  heard_rank_0_ = Clock::now();
  ByteReader in(message.payload);
  switch (message.kind) {
    case MessageKind::beat: at_of_rank_0_ = message.payload; return;
    case MessageKind::exchanged: exchanged_ = message.payload; return changed_.notify_all();
    case MessageKind::all_left: all_left_ = true; return changed_.notify_all();
    case MessageKind::heard: heard_ = true; return changed_.notify_all();
    case MessageKind::failure: return store(read_failure(in), lock);
    default: throw MalformedMessage();
  }
}

void Member::find_rank_0_lost(std::unique_lock<std::mutex>& lock) {
  const double silent = std::chrono::duration<double>(Clock::now() - heard_rank_0_).count();
  if (all_left_ || failure_) return;
  if (!connection_.is_open())
    return store(lost_failure(name_of(0), at_of_rank_0_, waiting()), lock);
  if (options_.hang_seconds <= 0 || silent < silent_share * options_.hang_seconds) return;
  const Failure stopped = stopped_failure(name_of(0), at_of_rank_0_, silent, waiting());
  // for when it goes on
  put(MessageKind::fail, stopped);
  store(stopped, lock);
}

std::string Member::waiting() const {
  return progress_.waiting > 0
             ? "rank " + std::to_string(rank()) + " waits" + (at_.empty() ? "" : " at " + at_)
             : "";
}

void Member::store(const Failure& failure, std::unique_lock<std::mutex>& lock) {
  if (failure_) return;
  failure_ = failure;
  failed_ = true;
  changed_.notify_all();
  if (told_ || !options_.on_failure) return;
  lock.unlock();  // what is called may ask this object
  options_.on_failure(failure.code, failure.sentence);
  lock.lock();
}

void Member::put(MessageKind kind, std::string_view payload) {
  connection_.put(kind, payload);
  if (connection_.has_unsent()) wake_.wake();
}

void Member::put(MessageKind kind, const Failure& failure) {
  ByteWriter out;
  write(out, failure);
  put(kind, out.take());
}

void Member::throw_stored() const {
  if (failure_) throw FailedElsewhere(*failure_);
}

void Member::throw_failure() const {
  const std::lock_guard lock(mutex_);
  throw_stored();
}

std::vector<std::string> Member::exchange(std::string_view mine) {
  const WaitsForPeers waits(progress_);
  std::unique_lock lock(mutex_);
  throw_stored();
  if (all_left_) throw InternalError("Control: an exchange after leaving");
  put(MessageKind::exchange, mine);
  changed_.wait(lock, [&] { return failure_ || exchanged_; });
  throw_stored();
  const std::string all = std::move(*exchanged_);
  exchanged_.reset();
  lock.unlock();
  ByteReader in(all);
  std::vector<std::string> texts;
  for (int r = 0; r < world_size(); ++r) texts.push_back(in.text());
  ++progress_.done;
  return texts;
}

void Member::fail(ExitCode code, const std::string& sentence) {
  std::unique_lock lock(mutex_);
  if (failure_) return;
  told_ = true;
  put(MessageKind::fail, Failure{code, sentence});
  // Rank 0 tells all what it heard first, so that ranks which find different halves of one mistake
  // end with the same sentence.
  changed_.wait_for(lock, hearing_time, [&] { return failure_.has_value(); });
  store({code, sentence}, lock);
}

void Member::leave() {
  const WaitsForPeers waits(progress_);
  std::unique_lock lock(mutex_);
  throw_stored();
  put(MessageKind::leave, "");
  changed_.wait(lock, [&] { return failure_ || all_left_; });
  throw_stored();
}

void Member::leave_with(ExitCode code, const std::string& sentence) {
  std::unique_lock lock(mutex_);
  if (failure_ || all_left_) return;
  told_ = true;
  put(MessageKind::leave_with, Failure{code, sentence});
  changed_.wait_for(lock, hearing_time, [&] { return heard_ || failure_; });
  store({code, sentence}, lock);
}

}  // namespace trainx::comm
