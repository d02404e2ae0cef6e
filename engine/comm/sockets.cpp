#include "engine/comm/sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

namespace tessera {
namespace {

using SocketClock = std::chrono::steady_clock;

// Closed by the destructor.
class Socket {
 public:
  explicit Socket(int number = -1) : number_(number) {}
  ~Socket() {
    if (number_ >= 0) (void)::close(number_);
  }
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }
  bool open() const { return number_ >= 0; }

 private:
  int number_;
};

// The address at which a rank listens, as the system calls take it; ranks send it to one another in these bytes.
struct Address {
  sockaddr_storage at{};
  int64_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&at); }
  int family() const { return at.ss_family; }
};

// The first message on a connection.
struct Hello {
  uint64_t magic = 0x3165'7265'7373'6574;  // of this protocol; a connection with another value is not one of our ranks
  int32_t rank = 0, size = 0;
  Address listens;
};

constexpr int64_t kLongestText = 1 << 16;      // of an error text sent to other ranks
constexpr std::chrono::seconds kShortWait{5};  // for data that is sent without delay

Address address_of(const std::string& meeting) {
  Address out;
  if (meeting.find('/') != std::string::npos) {
    auto* local = reinterpret_cast<sockaddr_un*>(&out.at);
    if (meeting.size() >= sizeof local->sun_path)
      throw Error(ErrorCode::usage, fmt::format("{}: the path of a local socket has less than {} bytes.\n  Choose "
                                                "another TESSERA_RENDEZVOUS.",
                                                meeting, sizeof local->sun_path));
    local->sun_family = AF_UNIX;
    std::memcpy(local->sun_path, meeting.c_str(), meeting.size() + 1);
    out.size = sizeof *local;
    return out;
  }
  const size_t colon = meeting.rfind(':');
  const std::string port = colon == std::string::npos ? "" : meeting.substr(colon + 1);
  std::string host = meeting.substr(0, std::min(colon, meeting.size()));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_NUMERICSERV;
  // getaddrinfo() takes a number beyond 65535 modulo 65536.
  int number = 0;
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool sound = error == std::errc() && stop == port.data() + port.size() && number > 0 && number < 65536;
  const int status = !sound || host.empty() ? EAI_NONAME : ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (status != 0)
    throw Error(ErrorCode::usage,
                fmt::format("The ranks cannot meet at \"{}\" ({}).\n  Set TESSERA_RENDEZVOUS to host:port (1 to "
                            "65535), or to the path of a local socket, with a /.",
                            meeting, ::gai_strerror(status)));
  std::memcpy(&out.at, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return out;
}

Socket new_socket(const Address& a) { return Socket(::socket(a.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// Steps send small messages and wait for the answers.
void prepare(const Socket& s) {
  const int on = 1;
  (void)::setsockopt(s.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on local ones, which need it not
  (void)::fcntl(s.number(), F_SETFL, O_NONBLOCK);
}

// Moves all of these bytes one way; false: the other end has closed or is too slow.
bool move_all(const Socket& s, void* data, int64_t bytes, bool out, SocketClock::time_point until) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const auto n = static_cast<size_t>(bytes);
    const ssize_t done = out ? ::send(s.number(), at, n, MSG_NOSIGNAL) : ::recv(s.number(), at, n, 0);
    if (done > 0) at += done, bytes -= done;
    else if (done == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    else {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - SocketClock::now()).count();
      if (left <= 0) return false;
      pollfd ready{s.number(), static_cast<short>(out ? POLLOUT : POLLIN), 0};
      (void)::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    }
  }
  return true;
}

bool send_text(const Socket& s, std::string text, SocketClock::time_point until) {
  text.resize(std::min(text.size(), static_cast<size_t>(kLongestText)));
  auto bytes = static_cast<int64_t>(text.size());
  return move_all(s, &bytes, sizeof bytes, true, until) && move_all(s, text.data(), bytes, true, until);
}

bool receive_text(const Socket& s, std::string& text, SocketClock::time_point until) {
  int64_t bytes = 0;
  if (!move_all(s, &bytes, sizeof bytes, false, until) || bytes < 0 || bytes > kLongestText) return false;
  text.resize(static_cast<size_t>(bytes));
  return move_all(s, text.data(), bytes, false, until);
}

// How ranks connect: all connect to rank 0 and send their own addresses; rank 0 sends all addresses to each; each rank
// connects to those before it.
class Meeting {
 public:
  Meeting(const std::string& where, int rank, int size, double patience)
      : where_(where),
        rank_(rank),
        size_(size),
        patience_(patience),
        peers_(static_cast<size_t>(size)),
        until_(SocketClock::now() + std::chrono::milliseconds(static_cast<int64_t>(patience * 1000))) {}
  ~Meeting() {
    if (!own_path_.empty()) (void)::unlink(own_path_.c_str());
  }
  Meeting(const Meeting&) = delete;

  std::vector<Socket> hold() {
    const Address first = address_of(where_);
    if (rank_ == 0) lead(first);
    else join(first);
    return std::move(peers_);
  }

 private:
  void lead(const Address& first) {
    listen_at(first);
    std::vector<Address> all(peers_.size());
    const auto refuse = [&](const Socket& last, const std::string& why) {
      (void)send_text(last, why, SocketClock::now() + kShortWait);
      for (const Socket& s : peers_)
        if (s.open()) (void)send_text(s, why, SocketClock::now() + kShortWait);
      throw Error(ErrorCode::usage, why);
    };
    for (int missing = size_ - 1; missing > 0; --missing) {
      Hello h;
      Socket s = accept_one(h, [&] { return fmt::format("{} of the {} ranks did not come", missing, size_); });
      if (h.size != size_)
        refuse(s, fmt::format("A rank counts {} ranks, rank 0 counts {}.\n  Give all ranks one world size.", h.size,
                              size_));
      if (h.rank < 1 || h.rank >= size_ || peers_[static_cast<size_t>(h.rank)].open())
        refuse(s, fmt::format("{} came twice.\n  Give each process a rank of its own, from 0 to {}.",
                              name_of_rank(h.rank, size_), size_ - 1));
      all[static_cast<size_t>(h.rank)] = h.listens;
      peers_[static_cast<size_t>(h.rank)] = std::move(s);
    }
    for (int r = 1; r < size_; ++r) {
      const Socket& s = peers_[static_cast<size_t>(r)];
      if (!send_text(s, "", until_) || !move_all(s, all.data(), bytes_of(all), true, until_)) left(r);
    }
  }

  void join(const Address& first) {
    Socket to_first = connect_to(first, 0);
    listen_at(own_address(to_first, first));
    Hello mine;
    mine.rank = rank_, mine.size = size_, mine.listens = listens_;
    if (!move_all(to_first, &mine, sizeof mine, true, until_)) left(0);
    std::string refusal;
    std::vector<Address> all(peers_.size());
    if (!receive_text(to_first, refusal, until_)) left(0);
    if (!refusal.empty()) throw Error(ErrorCode::usage, refusal);
    if (!move_all(to_first, all.data(), bytes_of(all), false, until_)) left(0);
    peers_[0] = std::move(to_first);
    for (int r = 1; r < rank_; ++r) {
      Socket s = connect_to(all[static_cast<size_t>(r)], r);
      if (!move_all(s, &mine, sizeof mine, true, until_)) left(r);
      peers_[static_cast<size_t>(r)] = std::move(s);
    }
    for (int missing = size_ - 1 - rank_; missing > 0;) {
      Hello h;
      Socket s = accept_one(h, [&] { return fmt::format("{} ranks did not reach {}", missing, own_name()); });
      if (h.size != size_ || h.rank <= rank_ || h.rank >= size_ || peers_[static_cast<size_t>(h.rank)].open()) continue;
      peers_[static_cast<size_t>(h.rank)] = std::move(s), --missing;
    }
  }

  // Beside rank 0's path, or any port at the address from which this machine reaches rank 0.
  Address own_address(const Socket& to_first, const Address& first) const {
    if (first.family() == AF_UNIX) return address_of(fmt::format("{}.{}", where_, rank_));
    Address own;
    socklen_t size = sizeof own.at;
    (void)::getsockname(to_first.number(), reinterpret_cast<sockaddr*>(&own.at), &size);
    own.size = size;
    if (own.family() == AF_INET) reinterpret_cast<sockaddr_in*>(&own.at)->sin_port = 0;
    else reinterpret_cast<sockaddr_in6*>(&own.at)->sin6_port = 0;
    return own;
  }

  void listen_at(const Address& a) {
    listener_ = new_socket(a);
    const int on = 1;
    (void)::setsockopt(listener_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const char* path = a.family() == AF_UNIX ? reinterpret_cast<const sockaddr_un*>(&a.at)->sun_path : nullptr;
    if (path != nullptr) remove_abandoned(path, a);
    if (::bind(listener_.number(), a.get(), static_cast<socklen_t>(a.size)) != 0 ||
        ::listen(listener_.number(), SOMAXCONN) != 0)
      throw Error(ErrorCode::io, fmt::format("{} cannot listen at {}: {}.\n  Choose another TESSERA_RENDEZVOUS "
                                             "(MASTER_ADDR, MASTER_PORT).",
                                             own_name(), path != nullptr ? path : where_, std::strerror(errno)));
    if (path != nullptr) own_path_ = path;
    socklen_t size = sizeof listens_.at;
    (void)::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&listens_.at), &size);
    listens_.size = size;
  }

  // A socket left by a killed job: nobody listens there any more. Any other one belongs to a running program.
  static void remove_abandoned(const char* path, const Address& a) {
    struct stat there {};
    if (::lstat(path, &there) != 0 || !S_ISSOCK(there.st_mode)) return;
    const Socket s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(s.number(), a.get(), static_cast<socklen_t>(a.size)) != 0 && errno == ECONNREFUSED)
      (void)::unlink(path);
  }

  // Rank 0 may not listen yet.
  Socket connect_to(const Address& a, int other) {
    for (;;) {
      Socket s = new_socket(a);
      const timeval most{5, 0};  // of one attempt
      (void)::setsockopt(s.number(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
      if (::connect(s.number(), a.get(), static_cast<socklen_t>(a.size)) == 0) {
        prepare(s);
        return s;
      }
      if (SocketClock::now() > until_)
        throw Error(ErrorCode::io,
                    fmt::format("{} does not reach {} at {} within {:.4g} s ({}).\n  Is it running?", own_name(),
                                name_of_rank(other, size_), where_, patience_, std::strerror(errno)));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  // The next rank that connects. Connections that say nothing, or something else, hold nobody up: all are read side by
  // side, and the oldest makes way for a new one.
  template <class Missing>
  Socket accept_one(Hello& h, Missing&& missing) {
    for (;;) {
      if (SocketClock::now() > until_)
        throw Error(ErrorCode::io, fmt::format("{} within {:.4g} s ({}).\n  Start all of them; TESSERA_RANK_TIMEOUT "
                                               "sets the seconds.",
                                               missing(), patience_, where_));
      std::vector<pollfd> ready{{listener_.number(), POLLIN, 0}};
      for (const Caller& c : callers_) ready.push_back({c.socket.number(), POLLIN, 0});
      if (::poll(ready.data(), ready.size(), 100) <= 0) continue;
      for (size_t i = callers_.size(); i-- > 0;) {
        if (ready[i + 1].revents == 0) continue;
        Caller& c = callers_[i];
        const ssize_t n =
            ::recv(c.socket.number(), reinterpret_cast<char*>(&c.hello) + c.got, sizeof c.hello - c.got, 0);
        if (n > 0) c.got += static_cast<size_t>(n);
        const bool waits = n < 0 && (errno == EAGAIN || errno == EINTR);
        if (!waits && (n <= 0 || (c.got == sizeof c.hello && c.hello.magic != Hello{}.magic)))
          callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
        else if (c.got == sizeof c.hello) {
          h = c.hello;
          Socket s = std::move(c.socket);
          callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i));
          return s;
        }
      }
      if (ready[0].revents == 0) continue;
      Socket s(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!s.open()) continue;
      prepare(s);
      if (callers_.size() == kMaxCallers) callers_.erase(callers_.begin());
      callers_.push_back({std::move(s), {}, 0});
    }
  }

  [[noreturn]] void left(int other) const {
    throw Error(ErrorCode::io, fmt::format("{} left before all ranks had met.", name_of_rank(other, size_)));
  }
  static int64_t bytes_of(const std::vector<Address>& all) { return static_cast<int64_t>(all.size() * sizeof all[0]); }
  std::string own_name() const { return name_of_rank(rank_, size_); }

  struct Caller {  // a connection whose hello is not complete
    Socket socket;
    Hello hello;
    size_t got = 0;
  };
  static constexpr size_t kMaxCallers = 256;

  const std::string where_;
  const int rank_, size_;
  const double patience_;
  std::vector<Socket> peers_;
  std::vector<Caller> callers_;
  const SocketClock::time_point until_;
  Socket listener_;
  Address listens_;
  std::string own_path_;
};

// A message is its number of bytes and these bytes. A negative number, −1 − code, ends the job; a text follows.
constexpr int64_t kHeader = sizeof(int64_t);

struct Transfer {
  int other;
  bool out;
  char* data;
  int64_t bytes, header, done = 0;
  bool broken = false;  // the other end has closed, and its last messages are not yet read
};

class SocketCommunicator : public Communicator {
 public:
  SocketCommunicator(int rank, int size, std::vector<Socket> peers)
      : Communicator(rank, size), peers_(std::move(peers)) {}
  const char* transport() const override { return "sockets"; }

  void abort(const Error& why) noexcept override { tell(why, {}); }
  void give_up() noexcept override { tell(end_of(rank()), {}); }

 private:
  // A rank that ends sends the reason to the others first. A rank in the middle of a message from it (`open`) only sees
  // the connection close.
  void tell(const Error& why, std::span<const Transfer> open) noexcept {
    if (std::exchange(told_, true)) return;
    const auto soon = SocketClock::now() + kShortWait;
    int64_t end = -1 - static_cast<int64_t>(why.code());
    for (int r = 0; r < size(); ++r) {
      const auto halfway = [&](const Transfer& t) { return t.other == r && t.out && t.done > 0; };
      if (r == rank()) continue;
      try {
        if (std::none_of(open.begin(), open.end(), halfway) && move_all(socket(r), &end, sizeof end, true, soon))
          (void)send_text(socket(r), why.what(), soon);
      } catch (const std::bad_alloc&) {}  // the others only see the connection close
      (void)::shutdown(socket(r).number(), SHUT_WR);
    }
    // Closing a socket with unread data may discard the reason that was sent. So read until the others close too, for
    // at most a second, also from one that does not stop sending.
    const auto enough = SocketClock::now() + std::chrono::seconds(1);
    char unread = 0;
    for (int r = 0; r < size(); ++r)
      while (r != rank() && SocketClock::now() < enough && move_all(socket(r), &unread, 1, false, enough)) {}
  }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    // Incoming messages first: one may end the job.
    std::vector<Transfer> open;
    for (const Incoming& i : in) open.push_back({i.from, false, static_cast<char*>(i.data), i.bytes, 0});
    for (const Outgoing& o : out)  // only read from
      open.push_back({o.to, true, static_cast<char*>(const_cast<void*>(o.data)), o.bytes, o.bytes});
    try {
      move(open);
    } catch (const Error& e) {
      tell(e, open);
      throw;
    }
  }

  void move(std::vector<Transfer>& open) {
    // Time during which this process itself was stopped does not count: a turn counts as at most a second.
    constexpr double kMaxTurn = 1;
    double waited = 0;
    auto last = SocketClock::now();
    for (;;) {
      bool moved = false;
      for (size_t i = 0; i < open.size();)
        if (advance(open[i], moved)) open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        else ++i;
      if (open.empty()) return;
      for (const Transfer& t : open)
        if (t.broken) hear_last_words(t.other, open);
      const auto now = SocketClock::now();
      waited += std::min(kMaxTurn, std::chrono::duration<double>(now - last).count());
      last = now;
      if (moved) waited = 0;
      if (waited > patience)
        throw Error(ErrorCode::io, fmt::format("{} has not answered for {:.4g} s; the job ends.",
                                               name_of_rank(open.front().other, size()), patience));
      wait_for(open);
    }
  }

  void wait_for(const std::vector<Transfer>& open) const {
    std::vector<pollfd> ready;
    for (const Transfer& t : open)
      ready.push_back({socket(t.other).number(), static_cast<short>(t.out ? POLLOUT : POLLIN), 0});
    constexpr int kMilliseconds = 100;
    const double most = std::min<double>(kMilliseconds, patience * 1000);
    (void)::poll(ready.data(), ready.size(), static_cast<int>(std::max(1.0, most)));
  }

  // Moves as much as possible without waiting; true: complete.
  bool advance(Transfer& t, bool& moved) const {
    for (;;) {
      const bool head = t.done < kHeader;
      const int64_t left = head ? kHeader - t.done : kHeader + t.bytes - t.done;
      if (left == 0) return true;
      char* at = head ? reinterpret_cast<char*>(&t.header) + t.done : t.data + (t.done - kHeader);
      const int more = head && t.bytes > 0 ? MSG_MORE : 0;
      const int other = socket(t.other).number();
      const ssize_t n = t.out ? ::send(other, at, static_cast<size_t>(left), MSG_NOSIGNAL | more)
                              : ::recv(other, at, static_cast<size_t>(left), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return false;
      if (n <= 0) has_ended(t.other);
      t.done += n, moved = true;
      if (!t.out && head && t.done == kHeader) check_header(t);
    }
  }

  void check_header(const Transfer& t) const {
    if (t.header == t.bytes) return;
    check_end(t.other, t.header);
    throw Error(ErrorCode::internal, fmt::format("{} sent {} bytes where {} were expected",
                                                 name_of_rank(t.other, size()), t.header, t.bytes));
  }

  // Throws the error with which a rank ended the job, if the header says so.
  void check_end(int other, int64_t header) const {
    std::string text;
    const int64_t code = -1 - header;
    if (code >= 0 && code <= static_cast<int64_t>(ErrorCode::internal) &&
        receive_text(socket(other), text, SocketClock::now() + kShortWait))
      throw Error(static_cast<ErrorCode>(code), text);
  }

  // A rank that no longer accepts data may have sent the reason: reads it.
  void hear_last_words(int other, const std::vector<Transfer>& open) const {
    if (std::any_of(open.begin(), open.end(), [&](const Transfer& t) { return t.other == other && !t.out; })) return;
    int64_t header = 0;
    if (move_all(socket(other), &header, sizeof header, false, SocketClock::now() + kShortWait))
      check_end(other, header);
    has_ended(other);
  }

  Error end_of(int rank) const {
    return {ErrorCode::io, fmt::format("{} has ended; the job ends.", name_of_rank(rank, size()))};
  }
  [[noreturn]] void has_ended(int other) const { throw end_of(other); }

  const Socket& socket(int other) const { return peers_[static_cast<size_t>(other)]; }

  std::vector<Socket> peers_;
  bool told_ = false;
};

}  // namespace

std::shared_ptr<Communicator> socket_communicator(const std::string& meeting, int rank, int size, double patience) {
  return std::make_shared<SocketCommunicator>(rank, size, Meeting(meeting, rank, size, patience).hold());
}

}  // namespace tessera
