// Speed of two ranks on different hosts, beside a bare TCP connection between the same two processes.
// net_speed.sh runs it in two network namespaces.
//
//   net_speed RANK ADDRESS PORT [ROUNDS [BYTES]]       ADDRESS: of rank 0, which also has NCCL_COMM_ID;
//   BYTES: at most
//
// Rank 0 prints a row of a Markdown table per size, with medians over the rounds. In a round the kinds take
// turns, so that a disturbance of the machine hits all of them:
//   exchange    both write so many bytes to the socket and read as many, at once, without ever sleeping
//   AllReduce   of as many bytes, sum of float32
//   one way     rank 0 writes, rank 1 reads into one buffer and answers with a byte after the last message
//   send/recv   rank 0 sends, rank 1 receives, and an answer of 4 bytes after the last message

#include <arpa/inet.h>
#include <cuda_runtime.h>
#include <fmt/core.h>
#include <nccl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSizes[] = {8,         1 << 10, 4 << 10, 16 << 10, 64 << 10,
                                  256 << 10, 1 << 20, 4 << 20, 16 << 20};
constexpr std::size_t kMost = 16 << 20;
// Bytes that a measurement moves, and the least and greatest number of its operations.
constexpr std::size_t kVolume = 64 << 20;
constexpr int kMinOperations = 2, kMaxOperations = 400;
constexpr int kRounds = 15;
// Largest call of the bare connection: with larger ones the data leaves the caches between the two sides.
constexpr std::size_t kCall = 256 << 10;

void require(bool good, const char* what) {
  if (good) return;
  fmt::print(stderr, "net_speed: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}
void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  fmt::print(stderr, "net_speed: {}\n", ncclGetLastError(nullptr));
  std::exit(1);
}

int tcpSocket() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  require(fd >= 0, "socket");
  // As Xylem's sockets do: BBR would wait for a timer more than for the cable.
  for (const std::string_view control : {"reno", "cubic"})
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control.data(), control.size());
  return fd;
}

// The bare connection. Rank 0 listens.
int connectRaw(int rank, const char* address, int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  require(inet_pton(AF_INET, address, &at.sin_addr) == 1, address);
  const auto* name = reinterpret_cast<const sockaddr*>(&at);
  int fd = tcpSocket();
  if (rank == 0) {
    require(bind(fd, name, sizeof at) == 0 && listen(fd, 1) == 0, "listen");
    const int listener = fd;
    fd = accept(listener, nullptr, nullptr);
    require(fd >= 0, "accept");
    close(listener);
  } else {
    for (int attempt = 0; connect(fd, name, sizeof at) != 0; ++attempt) {
      require(attempt < 1000, "connect");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// Moves both ways as far as possible without sleeping.
void move(int fd, const std::byte* out, std::size_t outBytes, std::byte* in, std::size_t inBytes) {
  while (outBytes > 0 || inBytes > 0) {
    if (outBytes > 0) {
      const ssize_t n = send(fd, out, std::min(outBytes, kCall), MSG_DONTWAIT | MSG_NOSIGNAL);
      require(n >= 0 || errno == EAGAIN, "send");
      if (n > 0) out += n, outBytes -= static_cast<std::size_t>(n);
    }
    if (inBytes == 0) continue;
    const ssize_t n = recv(fd, in, std::min(inBytes, kCall), MSG_DONTWAIT);
    require(n > 0 || (n < 0 && errno == EAGAIN), "recv");
    if (n > 0)
      in += n, inBytes -= static_cast<std::size_t>(n);
    else
      sched_yield();
  }
}

struct Bench {
  int rank;
  int fd;
  ncclComm_t comm;
  cudaStream_t stream;
  std::byte* out;
  std::byte* in;

  void exchange(std::size_t bytes) const { move(fd, out, bytes, in, bytes); }
  void allReduce(std::size_t bytes) const {
    check(ncclAllReduce(out, in, bytes / sizeof(float), ncclFloat32, ncclSum, comm, stream));
    cudaStreamSynchronize(stream);
  }
  void rawOneWay(std::size_t bytes, int n) const {
    for (int i = 0; i < n; ++i) move(fd, out, rank == 0 ? bytes : 0, in, rank == 0 ? 0 : bytes);
    move(fd, out, rank == 0 ? 0 : 1, in, rank == 0 ? 1 : 0);
  }
  void transfer(std::size_t bytes, bool sends) const {
    check(sends ? ncclSend(out, bytes, ncclInt8, 1 - rank, comm, stream)
                : ncclRecv(in, bytes, ncclInt8, 1 - rank, comm, stream));
    cudaStreamSynchronize(stream);
  }
  void oneWay(std::size_t bytes, int n) const {
    for (int i = 0; i < n; ++i) transfer(bytes, rank == 0);
    transfer(4, rank == 1);
  }

  // Microseconds of each of `n` operations, after a barrier.
  double time(int n, const std::function<void(int)>& body) const {
    exchange(1);
    const auto start = Clock::now();
    body(n);
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / n;
  }
};

enum Kind { kExchange, kAllReduce, kRawOneWay, kOneWay, kKinds };

double measure(const Bench& bench, Kind kind, std::size_t bytes) {
  const int n = std::clamp(static_cast<int>(kVolume / 4 / bytes), kMinOperations, kMaxOperations);
  const auto each = [](const auto& one) {
    return [one](int count) {
      for (int i = 0; i < count; ++i) one();
    };
  };
  switch (kind) {
    case kExchange:
      return bench.time(n, each([&] { bench.exchange(bytes); }));
    case kAllReduce:
      return bench.time(n, each([&] { bench.allReduce(bytes); }));
    case kRawOneWay:
      return bench.time(n, [&](int count) { bench.rawOneWay(bytes, count); });
    default:
      return bench.time(n, [&](int count) { bench.oneWay(bytes, count); });
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void print(std::size_t bytes, const std::vector<double> (&times)[kKinds]) {
  const double exchange = median(times[kExchange]), allReduce = median(times[kAllReduce]);
  const double raw = median(times[kRawOneWay]), oneWay = median(times[kOneWay]);
  const auto size = static_cast<double>(bytes);
  fmt::print("| {} | {:.1f} | {:.1f} | {:.3g} | {:.3g} | {:.0f} % |\n", bytes, exchange, allReduce,
             size / raw / 1e3, size / oneWay / 1e3, 100 * raw / oneWay);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: net_speed RANK ADDRESS PORT [ROUNDS [BYTES]]\n");
    return 2;
  }
  Bench bench{};
  bench.rank = std::atoi(argv[1]);
  bench.fd = connectRaw(bench.rank, argv[2], std::atoi(argv[3]));
  const int rounds = argc > 4 ? std::atoi(argv[4]) : kRounds;
  const std::size_t most = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : kMost;
  void *out = nullptr, *in = nullptr;
  cudaStreamCreate(&bench.stream);
  require(cudaMalloc(&out, kMost) == cudaSuccess && cudaMalloc(&in, kMost) == cudaSuccess, "cudaMalloc");
  std::memset(out, 0, kMost);
  std::memset(in, 0, kMost);
  bench.out = static_cast<std::byte*>(out);
  bench.in = static_cast<std::byte*>(in);
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  check(ncclCommInitRank(&bench.comm, 2, id, bench.rank));

  if (bench.rank == 0)
    fmt::print(
        "| bytes | bare exchange, us | AllReduce, us | bare one way, GB/s | send/receive, GB/s | of bare |\n"
        "|---|---|---|---|---|---|\n");
  for (const std::size_t bytes : kSizes) {
    if (bytes > most) break;
    std::vector<double> times[kKinds];
    for (int round = -1; round < rounds; ++round)
      for (int kind = 0; kind < kKinds; ++kind) {
        const double us = measure(bench, static_cast<Kind>(kind), bytes);
        if (round >= 0) times[kind].push_back(us);
      }
    if (bench.rank == 0) print(bytes, times);
  }
  check(ncclCommDestroy(bench.comm));
  return 0;
}
