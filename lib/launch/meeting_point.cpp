#include "launch/meeting_point.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "launch/secret.hpp"
#include <netinet/in.h>
#include <sys/socket.h>
#include <cerrno>

namespace trainx::launch {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw UserError(ExitCode::unavailable,
                  std::string("the workers get no place to meet at 127.0.0.1 (") + what +
                      "): " + errno_words(errno) + "; the machine's loopback interface must be up");
}

}  // namespace

MeetingPoint make_meeting_point() {
  MeetingPoint point{Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  if (!point.listener.is_open()) refuse("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(point.listener.get(), any, size) != 0) refuse("bind");
  if (::listen(point.listener.get(), SOMAXCONN) != 0) refuse("listen");
  if (::getsockname(point.listener.get(), any, &size) != 0) refuse("getsockname");
  point.port = ntohs(address.sin_port);
  point.secret = make_secret();
  return point;
}

}  // namespace trainx::launch
