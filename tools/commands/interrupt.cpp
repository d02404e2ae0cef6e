#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace {

std::atomic<tessera_context*> target{nullptr};
std::atomic<int> caught{0};

void on_signal(int signal) {
  if (caught.exchange(signal) != 0) ::_exit(128 + signal);
  if (tessera_context* context = target.load()) tessera_context_cancel(context);
}

}  // namespace

void cancel_on_signals(tessera_context* context) {
  target.store(context);
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART: a signal must interrupt a read from a pipe
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int caught_signal() { return caught.load(); }
