// Keeping interrupts away from a few moments and from helper threads.
#pragma once

#include <csignal>

namespace base {

/// SIGINT, SIGTERM and SIGHUP wait while this object lives, in this thread and for good in threads that it starts
/// meanwhile. Helper threads are started so: an interrupt then reaches the main thread, or waits while that is
/// replacing a file.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace base
