// The watch over networks that are cut without a word: each host has a network of its own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>

#include <string>
#include <vector>

#include "comm/liveness/liveness_watch.h"
#include "comm_liveness/forked_job.h"

namespace robusta::test::network_test {
namespace {

constexpr int kCode = static_cast<int>(ErrorKind::kCommunication);
constexpr int kNoNetworks = 77;

void write_text(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY);
  [[maybe_unused]] const ssize_t written = write(file, text.data(), text.size());
  close(file);
}

/// A namespace in which this process may make networks. ThreadSanitizer's own thread forbids one of users; root needs
/// none.
bool enter_sandbox() {
  if (unshare(CLONE_NEWNET) == 0) return true;
  const std::string user = std::to_string(getuid()), group = std::to_string(getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", "0 " + user + " 1");
  write_text("/proc/self/gid_map", "0 " + group + " 1");
  return true;
}

bool shell(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }

/// Hosts 1..n at 10.99.0.1..n, each joined to one bridge.
class Networks {
 public:
  explicit Networks(int hosts) {
    usable = shell("ip link add br0 type bridge && ip link set br0 up && ip link set lo up");
    for (int host = 1; usable && host <= hosts; ++host) {
      int ends[2];
      if (pipe(ends) != 0) throw std::runtime_error("pipe");
      holders_.push_back(fork());
      if (holders_.back() == 0) hold(host, ends[1]);
      close(ends[1]);
      char done;
      const std::string name = cable(host);
      // The holder tells when it has a network of its own, and when that is up.
      usable = read(ends[0], &done, 1) == 1 &&
               shell("ip link add " + name + " type veth peer name eth0 netns " + std::to_string(holders_.back()) +
                     " && ip link set " + name + " master br0 up") &&
               read(ends[0], &done, 1) == 1;
      close(ends[0]);
    }
  }
  ~Networks() {
    for (int holder : holders_) {
      kill(holder, SIGKILL);
      waitpid(holder, nullptr, 0);
    }
  }

  /// The calling process moves to this host.
  void enter(int host) const {
    const std::string path = "/proc/" + std::to_string(holders_.at(static_cast<size_t>(host - 1))) + "/ns/net";
    const int file = open(path.c_str(), O_RDONLY);
    if (setns(file, CLONE_NEWNET) != 0) throw std::runtime_error("cannot enter " + path);
    close(file);
  }
  /// Packets vanish, and the host's interface still looks sound.
  static bool cut(int host) { return shell("ip link set " + cable(host) + " nomaster"); }
  static bool heal(int host) { return shell("ip link set " + cable(host) + " master br0"); }

  bool usable = false;

 private:
  static std::string cable(int host) { return "cable" + std::to_string(host); }

  [[noreturn]] static void hold(int host, int done) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNET) != 0 || write(done, "n", 1) != 1) _exit(1);
    while (if_nametoindex("eth0") == 0) nap(0.01);
    const std::string address = "10.99.0." + std::to_string(host) + "/24";
    const bool up = shell("ip link set lo up && ip addr add " + address + " dev eth0 && ip link set eth0 up");
    if (!up || write(done, "u", 1) != 1) _exit(1);
    for (;;) pause();
  }

  std::vector<int> holders_;
};

/// Runs `body` in a process that may make networks, or skips the test where there are none to be had.
void in_sandbox(const std::function<void()>& body) {
  std::fflush(stdout);
  const int pid = fork();
  if (pid == 0) {
    if (!enter_sandbox() || !shell("ip link")) _exit(kNoNetworks);
    body();
    std::fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == kNoNetworks) GTEST_SKIP() << "no user namespaces, or no ip command (iproute2)";
  EXPECT_EQ(status, 0);
}

std::vector<std::string> three_by_two() { return {"n1", "n1", "n2", "n2", "n3", "n3"}; }

ForkedJob::Body training(double timeout, int64_t iterations) {
  return [=](Communicator& world, ForkedJob& job) {
    LivenessOptions options;
    options.timeout_s = timeout;
    LivenessWatch watch(world, options);
    for (int64_t iteration = 0; iteration < iterations; ++iteration) {
      watch.progress(iteration);
      watch.doing("conv1 forward");
      if (iteration == 0) job.ready();
      nap(0.01);
    }
    watch.goodbye();
    return 0;
  };
}

TEST(LivenessNetworkTest, ASilentCutEndsBothSides) {
  in_sandbox([] {
    const Networks networks(3);
    ASSERT_TRUE(networks.usable);
    constexpr double kTimeout = 3;
    for (int host : {2, 3, 1}) {
      SCOPED_TRACE(host);
      ForkedJob job(three_by_two(), training(kTimeout, 1000000), [&](int rank) { networks.enter(rank / 2 + 1); });
      ASSERT_TRUE(job.wait_ready()) << job.all_said();
      nap(0.5);
      ASSERT_TRUE(Networks::cut(host));
      EXPECT_TRUE(job.wait_end(kTimeout + 10));
      for (const auto& [rank, code] : job.codes) EXPECT_EQ(code, kCode) << job.said(rank);
      EXPECT_GT(job.took[0], kTimeout - 0.3);
      EXPECT_EQ(count(job.said(0), "has not been heard of"), 1) << job.said(0);
      EXPECT_EQ(count(job.said(0), "conv1 forward, computing, iteration "), 1) << job.said(0);
      if (host != 1) {
        const int leader = 2 * (host - 1);
        EXPECT_EQ(count(job.said(0), "rank " + std::to_string(leader) + " on n" + std::to_string(host)), 1);
        EXPECT_EQ(count(job.said(leader), "rank 0 on n1"), 1) << job.said(leader);
        EXPECT_TRUE(job.exit_file().starts_with("8 " + std::to_string(leader) + " "))
            << "as reported: " << job.exit_file();
      } else {
        EXPECT_EQ(count(job.said(0), "rather n1 is cut off"), 1) << job.said(0);
      }
      std::printf("n%d cut: all ended within %.2f s, timeout %.0f s\n", host, job.slowest(), kTimeout);
      EXPECT_TRUE(Networks::heal(host));
    }
  });
}

// TCP alone would come back 6.3 s after the cut began, at its sixth repetition.
TEST(LivenessNetworkTest, ACutThatHealsWithinTheTimeoutIsForgiven) {
  in_sandbox([] {
    const Networks networks(3);
    ASSERT_TRUE(networks.usable);
    constexpr double kTimeout = 6;
    ForkedJob job(three_by_two(), training(kTimeout, 800), [&](int rank) { networks.enter(rank / 2 + 1); });
    ASSERT_TRUE(job.wait_ready()) << job.all_said();
    nap(0.5);
    ASSERT_TRUE(Networks::cut(2));
    nap(4);
    ASSERT_TRUE(Networks::heal(2));
    EXPECT_TRUE(job.wait_end(40));
    for (const auto& [rank, code] : job.codes) EXPECT_EQ(code, 0) << job.said(rank);
    EXPECT_EQ(job.all_said(), "");
  });
}

/// A connection from rank 0 to rank 2, in place of what a library keeps to itself; -1 on other ranks.
int connect_ranks(Communicator& world) {
  constexpr uint16_t kPort = 5555;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(kPort);
  place.sin_addr.s_addr = world.rank() == 2 ? INADDR_ANY : inet_addr("10.99.0.2");
  const auto* const address = reinterpret_cast<const sockaddr*>(&place);
  if (world.rank() == 2 && (bind(fd, address, sizeof place) != 0 || listen(fd, 1) != 0))
    throw std::runtime_error("listen");
  world.barrier();
  if (world.rank() == 0 && connect(fd, address, sizeof place) != 0) throw std::runtime_error("connect");
  return world.rank() == 0 ? fd : world.rank() == 2 ? accept(fd, nullptr, nullptr) : -1;
}

// As in MPI_Allreduce over a slow link, of which nobody hears before it is done.
TEST(LivenessNetworkTest, ATransferThatProgressesIsAlive) {
  in_sandbox([] {
    const Networks networks(2);
    ASSERT_TRUE(networks.usable);
    constexpr double kTimeout = 2, kPassing = 6;
    const auto wait_for_each_other = [](Communicator& world, ForkedJob& job) {
      LivenessOptions options;
      options.timeout_s = kTimeout;
      LivenessWatch watch(world, options);
      const int fd = connect_ranks(world);
      watch.progress(7);
      watch.doing("bucket 1 of 1", Activity::kWaiting);
      job.ready();
      for (double passed = 0; passed < kPassing; passed += 0.2) {
        if (world.rank() == 0 && send(fd, "x", 1, 0) != 1) return 98;
        nap(0.2);
      }
      nap(60);
      return 99;
    };
    ForkedJob job({"n1", "n1", "n2", "n2"}, wait_for_each_other, [&](int rank) { networks.enter(rank / 2 + 1); });
    ASSERT_TRUE(job.wait_ready()) << job.all_said();
    job.wait_end(kPassing - 1);
    EXPECT_TRUE(job.codes.empty()) << "bytes pass: " << job.all_said();
    EXPECT_TRUE(job.wait_end(1 + kTimeout + 10)) << "none pass any more";
    for (const auto& [rank, code] : job.codes) EXPECT_EQ(code, kCode) << job.said(rank);
    EXPECT_EQ(count(job.said(0), "ranks that all wait for each other"), 1) << job.said(0);
  });
}

TEST(LivenessNetworkTest, AHostOutOfReachIsNamedAtTheStart) {
  in_sandbox([] {
    const Networks networks(2);
    ASSERT_TRUE(networks.usable);
    ASSERT_TRUE(Networks::cut(2));
    const auto start = [](Communicator& world, ForkedJob&) {
      LivenessOptions options;
      options.connect_s = 2;
      LivenessWatch watch(world, options);
      return 0;
    };
    ForkedJob job({"n1", "n1", "n2", "n2"}, start, [&](int rank) { networks.enter(rank / 2 + 1); });
    EXPECT_TRUE(job.wait_end(10));
    for (const auto& [rank, code] : job.codes) {
      EXPECT_EQ(code, kCode) << rank;
      EXPECT_EQ(count(job.said(rank), "rank 2 on n2 cannot reach rank 0 on n1 within 2 s (10.99.0.1 port "), 1)
          << job.said(rank);
    }
    EXPECT_LT(job.slowest(), 5);
  });
}

}  // namespace
}  // namespace robusta::test::network_test
