#include "multiprocess/channel.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace culprit {
namespace {

// How long a peer may take nothing at all before it counts as gone. Below what a coordinator that
// waits for that may be silent itself.
constexpr int kSendTimeoutMs = 3000;
// A peer that never stops sending must not keep its reader from all else.
constexpr std::size_t kMostReadAtOnce = 4 << 20;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
// None, and `why`: not known now, maybe later. Errors: SetupError.
Addresses resolve(const std::string& address, int port, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(address.empty() ? nullptr : address.c_str(),
                                std::to_string(port).c_str(), &hints, &list);
  if (error != 0) why = gai_strerror(error);
  if (error != 0 && error != EAI_AGAIN)
    throw SetupError(fmt::format("can't find the address '{}': {}", address, why));
  return {list, &freeaddrinfo};
}

void send_without_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

using GetName = int (*)(int, sockaddr*, socklen_t*);
sockaddr_storage name_of(GetName get, int fd) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  get(fd, reinterpret_cast<sockaddr*>(&name), &length);
  return name;
}

// A system that looks for a free port for a connection to one of its own may take the very port
// that it is to connect to: then the process has connected to itself.
bool is_connected_to_itself(int fd) {
  const sockaddr_storage own = name_of(&getsockname, fd), peer = name_of(&getpeername, fd);
  return std::memcmp(&own, &peer, sizeof(own)) == 0;
}

}  // namespace

bool Channel::send(const std::string& message) {
  const std::lock_guard lock(sending_);
  const std::uint64_t size = message.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += message;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t sent =
        ::send(fd(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd entry{.fd = fd(), .events = POLLOUT, .revents = 0};
      if (poll(&entry, 1, kSendTimeoutMs) != 0) continue;
      ::shutdown(fd(), SHUT_RDWR);  // what comes after half a message would be taken for its rest
      return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Channel::State Channel::receive(std::string& message, std::uint64_t most_bytes) {
  const auto whole = [&] {
    std::uint64_t size = 0;
    const std::size_t there = received_.size() - taken_;
    if (there < sizeof(size)) return State::kNothingYet;
    std::memcpy(&size, received_.data() + taken_, sizeof(size));
    if (size > most_bytes) return State::kClosed;
    if (there - sizeof(size) < size) return State::kNothingYet;
    message = received_.substr(taken_ + sizeof(size), size);
    taken_ += sizeof(size) + size;
    if (taken_ == received_.size()) {
      received_.clear();
      taken_ = 0;
    }
    return State::kMessage;
  };
  State state = whole();
  if (state != State::kNothingYet) return state;
  const bool is_open = read_some();
  state = whole();
  return state == State::kNothingYet && !is_open ? State::kClosed : state;
}

bool Channel::read_some() {
  received_.erase(0, std::exchange(taken_, 0));
  std::array<char, 1 << 16> buffer;
  for (std::size_t first = received_.size(); received_.size() - first < kMostReadAtOnce;) {
    const ssize_t got = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
      if (static_cast<std::size_t>(got) < buffer.size()) return true;
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
  return true;
}

void Channel::wait(std::chrono::milliseconds time) const {
  pollfd entry{.fd = fd(), .events = POLLIN, .revents = 0};
  poll(&entry, 1, static_cast<int>(time.count()));
}

Listener::Listener(const std::string& address, int port) {
  std::string why = "no address";
  if (address.empty()) {
    sockaddr_in6 every{};
    every.sin6_family = AF_INET6;
    every.sin6_port = htons(static_cast<std::uint16_t>(port));
    addrinfo both{};
    both.ai_family = AF_INET6;
    both.ai_addr = reinterpret_cast<sockaddr*>(&every);
    both.ai_addrlen = sizeof(every);
    if (listen_at(both)) return;
    why = std::strerror(errno);  // IPv4 alone, where there is no IPv6
  }
  const Addresses list = resolve(address, port, AI_PASSIVE, why);
  for (const addrinfo* each = list.get(); each; each = each->ai_next) {
    if (listen_at(*each)) return;
    why = std::strerror(errno);
  }
  throw SetupError(fmt::format("rank 0 can't listen on {}:{}: {}; choose another MASTER_PORT",
                               address.empty() ? "*" : address, port, why));
}

bool Listener::listen_at(const addrinfo& address) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  const int on = 1, off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ai_family == AF_INET6)
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 || ::listen(fd.get(), 128) != 0)
    return false;
  const sockaddr_storage bound = name_of(&getsockname, fd.get());
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&bound), sizeof(bound), host.data(),
                  host.size(), service.data(), service.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return false;
  own_address_ = host.data();
  if (own_address_ == "::" || own_address_ == "0.0.0.0") own_address_ = "127.0.0.1";
  port_ = std::stoi(service.data());
  fd_ = std::move(fd);
  return true;
}

UniqueFd Listener::accept() const {
  UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (fd) send_without_delay(fd.get());
  return fd;
}

UniqueFd connect_to(const std::string& address, int port, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  std::string why = "no address";
  while (true) {
    const Addresses list = resolve(address, port, 0, why);
    for (const addrinfo* each = list.get(); each; each = each->ai_next) {
      UniqueFd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      // Bounds connect() too, which else tries for minutes where nobody answers.
      const timeval limit{.tv_sec = kSendTimeoutMs / 1000, .tv_usec = 0};
      if (fd) setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
      if (!fd || ::connect(fd.get(), each->ai_addr, each->ai_addrlen) != 0) {
        why = std::strerror(errno);
      } else if (is_connected_to_itself(fd.get())) {
        why = std::strerror(ECONNREFUSED);
      } else {
        send_without_delay(fd.get());
        return fd;
      }
    }
    if (std::chrono::steady_clock::now() >= end)
      throw SetupError(fmt::format("rank 0 does not answer at {}:{} ({}) within {:g} s", address,
                                   port, why, std::chrono::duration<double>(deadline).count()));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace culprit
