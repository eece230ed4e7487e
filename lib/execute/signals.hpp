#pragma once

namespace trainx::execute {

/// What a signal asked for, acted on at a step's end soon after. In the order of strength: of
/// several, on whichever rank, the strongest holds. new_programs is no signal's: an observer's, for
/// which the process saves and goes on from there.
enum class Request {
  none,
  save_and_go_on,
  new_programs,
  stop_and_rerun,
  interrupt,
  hang_up,
  terminate
};

/// SIGTERM: terminate (143). SIGHUP: hang_up (129), unless it was ignored at the start (nohup):
/// then it stays so. SIGINT: interrupt (130), twice: ends the process at once. SIGUSR1:
/// stop_and_rerun (75). SIGUSR2: save_and_go_on.
void install_signal_handlers();
/// For commands that save nothing: signals end the process at once, also one that came since the
/// handlers were installed.
void remove_signal_handlers();
/// The strongest request so far; save_and_go_on is taken (reported once).
Request take_request();

}  // namespace trainx::execute
