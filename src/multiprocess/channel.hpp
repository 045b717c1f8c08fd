// Messages over a stream socket between two processes of a job.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "process/unique_fd.hpp"

struct addrinfo;

namespace culprit {

// One end of a connection. A peer that is gone is no error here: send() and receive() say so.
class Channel {
 public:
  enum class State { kMessage, kNothingYet, kClosed };

  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  // False when the peer is gone, or takes nothing for some seconds: then the connection is of no
  // more use to either end. Any thread.
  bool send(const std::string& message);
  // Takes the next whole message into `message` if there is one; reads of what has come so much at
  // a time, and never waits. A message longer than `most_bytes` closes the channel. One thread.
  State receive(std::string& message, std::uint64_t most_bytes = ~std::uint64_t{0});
  // Waits until there is something to read, or so long.
  void wait(std::chrono::milliseconds time) const;

 private:
  bool read_some();  // false when the peer is gone

  UniqueFd fd_;
  std::mutex sending_;
  std::string received_;
  std::size_t taken_ = 0;  // of received_, by earlier messages
};

// Where the others connect to.
class Listener {
 public:
  // An empty address: every interface, IPv6 and IPv4; port 0: any free one. Errors: SetupError.
  Listener(const std::string& address, int port);
  int fd() const { return fd_.get(); }
  // Where this process itself finds it.
  const std::string& own_address() const { return own_address_; }
  int port() const { return port_; }
  // None when nobody waits to be let in.
  UniqueFd accept() const;

 private:
  bool listen_at(const addrinfo& address);  // else errno

  UniqueFd fd_;
  std::string own_address_;
  int port_ = 0;
};

// Tries again until somebody listens there. Errors: SetupError after `deadline`, or where no such
// address is known.
UniqueFd connect_to(const std::string& address, int port, std::chrono::milliseconds deadline);

}  // namespace culprit
