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

// How long a peer may take nothing at all before it counts as gone.
constexpr int kSendTimeoutMs = 5000;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
Addresses resolve(const std::string& address, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(address.empty() ? nullptr : address.c_str(),
                                std::to_string(port).c_str(), &hints, &list);
  if (error != 0)
    throw SetupError(fmt::format("can't find the address '{}': {}", address, gai_strerror(error)));
  return {list, &freeaddrinfo};
}

void send_without_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
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
      if (poll(&entry, 1, kSendTimeoutMs) == 0) return false;
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
  while (true) {
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
}

void Channel::wait(std::chrono::milliseconds time) const {
  pollfd entry{.fd = fd(), .events = POLLIN, .revents = 0};
  poll(&entry, 1, static_cast<int>(time.count()));
}

Listener::Listener(const std::string& address, int port) {
  const Addresses list = resolve(address, port, AI_PASSIVE);
  std::string why = "no address";
  for (const addrinfo* each = list.get(); each; each = each->ai_next) {
    UniqueFd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (fd) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (!fd || ::bind(fd.get(), each->ai_addr, each->ai_addrlen) != 0 ||
        ::listen(fd.get(), 128) != 0) {
      why = std::strerror(errno);
      continue;
    }
    sockaddr_storage bound{};
    socklen_t length = sizeof(bound);
    getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &length);
    port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                              : reinterpret_cast<sockaddr_in&>(bound).sin_port);
    fd_ = std::move(fd);
    return;
  }
  throw SetupError(fmt::format("rank 0 can't listen on {}:{}: {}; choose another MASTER_PORT",
                               address.empty() ? "*" : address, port, why));
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
    const Addresses list = resolve(address, port, 0);
    for (const addrinfo* each = list.get(); each; each = each->ai_next) {
      UniqueFd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      // Bounds connect() too, which else tries for minutes where nobody answers.
      const timeval limit{.tv_sec = kSendTimeoutMs / 1000, .tv_usec = 0};
      if (fd) setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
      if (fd && ::connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0) {
        send_without_delay(fd.get());
        return fd;
      }
      why = std::strerror(errno);
    }
    if (std::chrono::steady_clock::now() >= end)
      throw SetupError(fmt::format("rank 0 does not answer at {}:{} ({}) within {:g} s", address,
                                   port, why, std::chrono::duration<double>(deadline).count()));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace culprit
