#include "comm/socket.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <cerrno>
#include <cstring>
#include <memory>

namespace trainx::comm {
namespace {

constexpr int backlog = 1024;  // ranks may all knock at once

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Empty where the name is unknown; then `why` has the system's words.
Addresses resolve(const std::string& address, int port, int flags, std::string& why) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  if (const int error =
          ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
      error != 0) {
    why = unknown_name_words;
    why += " (";
    why += error == EAI_SYSTEM ? errno_words(errno) : ::gai_strerror(error);
    why += ")";
    found = nullptr;
  }
  return {found, &::freeaddrinfo};
}

Descriptor open_socket(const addrinfo& a) {
  return Descriptor(
      ::socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, a.ai_protocol));
}

void without_delay(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// 0, or the errno.
int finish_connecting(const Descriptor& socket, Time deadline) {
  pollfd p{socket.get(), POLLOUT, 0};
  int ready = 0;
  do ready = ::poll(&p, 1, poll_ms(deadline));
  while (ready < 0 && errno == EINTR);
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

bool is_known(const std::string& address) {
  std::string why;
  return resolve(address, 0, 0, why) != nullptr;
}

Descriptor listen_at(const std::string& address, int port) {
  const std::string at = address + ":" + std::to_string(port);
  std::string why;
  const Addresses addresses = resolve(address, port, 0, why);
  int error = 0;
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    Descriptor socket = open_socket(*a);
    const int on = 1;  // a port whose former connections linger is free
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket.is_open() && ::bind(socket.get(), a->ai_addr, a->ai_addrlen) == 0 &&
        ::listen(socket.get(), backlog) == 0)
      return socket;
    error = errno;
  }
  if (error == EADDRINUSE)
    throw UserError(
        ExitCode::unavailable,
        "port " + std::to_string(port) + " of " + address +
            " is in use by another process; end that one, or give the run another port");
  throw UserError(ExitCode::unavailable, "cannot listen at " + at + ": " +
                                             (error ? errno_words(error) : why) +
                                             "; give an address of the host that rank 0 runs on");
}

int port_of(const Descriptor& listener) {
  sockaddr_storage s{};
  socklen_t size = sizeof s;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&s), &size) != 0)
    throw InternalError("port_of: no socket");
  return ntohs(s.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(s).sin6_port
                                       : reinterpret_cast<const sockaddr_in&>(s).sin_port);
}

void adopt(const Descriptor& listener) {
  if (::fcntl(listener.get(), F_SETFD, FD_CLOEXEC) != 0 ||
      ::fcntl(listener.get(), F_SETFL, ::fcntl(listener.get(), F_GETFL) | O_NONBLOCK) != 0)
    throw UserError(ExitCode::unavailable,
                    "descriptor " + std::to_string(listener.get()) +
                        ", at which rank 0 is to listen, cannot be used: " + errno_words(errno));
}

Descriptor accept_one(const Descriptor& listener, std::string& address) {
  sockaddr_storage s{};
  socklen_t size = sizeof s;
  Descriptor socket(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&s), &size,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return socket;
  without_delay(socket);
  char digits[NI_MAXHOST] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&s), size, digits, sizeof digits, nullptr, 0,
                NI_NUMERICHOST);
  address = digits;
  return socket;
}

Descriptor connect_to(const std::string& address, int port, Time deadline, std::string& why) {
  const Addresses addresses = resolve(address, port, 0, why);
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    Descriptor socket = open_socket(*a);
    int error = socket.is_open() && ::connect(socket.get(), a->ai_addr, a->ai_addrlen) == 0 ? 0
                                                                                            : errno;
    if (error == EINPROGRESS) error = finish_connecting(socket, deadline);
    if (error == 0) {
      without_delay(socket);
      return socket;
    }
    why = errno_words(error);
  }
  return Descriptor();
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

}  // namespace trainx::comm
