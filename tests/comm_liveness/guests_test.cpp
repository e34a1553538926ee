// Strangers at the watch's port: where it listens, and how little one who has no token can take.
#include "comm/liveness/guests.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <limits>
#include <string>
#include <vector>

#include "comm/liveness/liveness_watch.h"
#include "comm/liveness/messages.h"
#include "comm_liveness/forked_job.h"
#include "comm_liveness/listening.h"
#include "support/sanitizers.h"

namespace robusta::test::guests_test {
namespace {

using namespace liveness;

constexpr Token kToken = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

Address address(const char* text) {
  in_addr result{};
  inet_pton(AF_INET, text, &result);
  return result.s_addr;
}
NetworkAddress network(const char* text, int bits) { return {address(text), bits}; }
Address no_route(Address) { return 0; }

std::vector<std::string> places(const std::vector<NetworkAddress>& own,
                                const std::vector<std::vector<NetworkAddress>>& callers, bool here,
                                Address (*route)(Address) = no_route) {
  std::vector<std::string> result;
  for (const Address place : listening_addresses(own, callers, here, route)) result.push_back(to_string(place));
  return result;
}

using Texts = std::vector<std::string>;

TEST(ListeningTest, OnTheNetworksOfTheCallersOnly) {
  const auto lan = network("192.168.0.1", 24), fabric = network("10.0.0.1", 16), outside = network("93.184.216.34", 24);
  const auto bridge = network("172.17.0.1", 16);
  EXPECT_EQ(places({outside, lan}, {}, true), Texts{"127.0.0.1"});
  EXPECT_EQ(places({outside, fabric, bridge}, {{network("10.0.7.2", 16), bridge}}, false), Texts{"10.0.0.1"});
  EXPECT_EQ(places({outside, lan, fabric}, {{network("10.0.7.2", 16)}, {network("192.168.0.2", 24)}}, true),
            (Texts{"192.168.0.1", "10.0.0.1", "127.0.0.1"}));
  // The same machine under two names.
  EXPECT_EQ(places({outside}, {{outside}}, false), Texts{"93.184.216.34"});
  // Over a router.
  EXPECT_EQ(
      places({outside, lan}, {{network("192.168.9.2", 24)}}, false, [](Address) { return address("192.168.0.1"); }),
      Texts{"192.168.0.1"});
  EXPECT_EQ(places({network("127.0.0.1", 8)}, {{network("127.0.0.1", 8)}}, true), Texts{"127.0.0.1"});
}

TEST(ListeningTest, AChoiceOfInterfacesIsKept) {
  const std::vector<NetworkAddress> all = own_addresses();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(own_addresses("no_such_interface"), all);
  const std::string mine = to_string(all[0].address) + "/32";
  EXPECT_EQ(own_addresses("nothing," + mine), std::vector<NetworkAddress>{all[0]});
}

TEST(MessagesTest, NumbersThatAreNoPlacesAreRefused) {
  Beat beat;
  beat.own.rank = beat.straggler.rank = beat.cut_off.rank.rank = RankId(1);
  EXPECT_TRUE(is_sane(beat, RankId(1), 4));
  beat.youngest = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(is_sane(beat, RankId(1), 4));
  EXPECT_FALSE(is_sane(beat, RankId(2), 4));
  const auto spoilt = [&](auto spoil) {
    Beat other = beat;
    spoil(other);
    return is_sane(other, RankId(1), 4);
  };
  for (const int32_t rank : {-1, 4, INT32_MAX, INT32_MIN}) {
    EXPECT_FALSE(spoilt([&](Beat& b) { b.straggler.rank = RankId(rank); })) << rank;
  }
  for (const int32_t rank : {4, INT32_MAX}) {
    EXPECT_FALSE(spoilt([&](Beat& b) { b.cut_off.rank.rank = RankId(rank); })) << rank;
    EXPECT_FALSE(spoilt([&](Beat& b) { b.cut_off.unanswered.to = RankId(rank); })) << rank;
  }
  EXPECT_FALSE(spoilt([](Beat& b) { b.cut_off.unanswered.seconds = -1; }));
  EXPECT_FALSE(spoilt([](Beat& b) { b.own.activity = static_cast<Activity>(4); }));
  EXPECT_FALSE(spoilt([](Beat& b) { b.own.activity = static_cast<Activity>(-1); }));
  EXPECT_FALSE(spoilt([](Beat& b) { b.own.age = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_FALSE(spoilt([](Beat& b) { b.late = -1; }));
  EXPECT_FALSE(spoilt([](Beat& b) { b.late = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_FALSE(spoilt([](Beat& b) { std::memset(b.straggler.doing, 'x', sizeof b.straggler.doing); }));

  Verdict verdict;
  verdict.code = 8;
  verdict.rank = verdict.judge = verdict.last.rank = RankId(3);
  EXPECT_TRUE(is_sane(verdict, 4));
  EXPECT_FALSE(is_sane(verdict, 3));
  const auto wrong = [&](auto spoil) {
    Verdict other = verdict;
    spoil(other);
    return !is_sane(other, 4);
  };
  EXPECT_TRUE(wrong([](Verdict& v) { v.rank = RankId(4); }));
  EXPECT_TRUE(wrong([](Verdict& v) { v.judge = RankId::none(); }));
  EXPECT_TRUE(wrong([](Verdict& v) { v.code = 0; }));
  EXPECT_TRUE(wrong([](Verdict& v) { v.code = 256; }));
  EXPECT_TRUE(wrong([](Verdict& v) { v.fault = static_cast<Fault>(9); }));
  EXPECT_TRUE(wrong([](Verdict& v) { std::memset(v.text, 'x', sizeof v.text); }));
}

/// A watch's door for rank 1, without the watch.
struct Door {
  Door() : Door(Listener({htonl(INADDR_LOOPBACK)})) {}
  explicit Door(Listener listener)
      : place{.sin_family = AF_INET,
              .sin_port = htons(listener.port()),
              .sin_addr = {htonl(INADDR_LOOPBACK)},
              .sin_zero = {}},
        guests(std::move(listener), {.host = RankId(0), .token = kToken, .ranks = {RankId(1)}, .addresses = {}}) {}

  /// Serves what comes within `seconds`.
  std::vector<Arrival> serve(double seconds) {
    std::vector<Arrival> all;
    for (const double end = seconds_now() + seconds; seconds_now() < end && all.empty(); nap(0.002)) {
      for (Arrival& arrival : guests.serve(seconds_now())) all.push_back(std::move(arrival));
    }
    return all;
  }
  size_t polled() const {
    std::vector<pollfd> list;
    guests.add_to(list, seconds_now());
    return list.size();
  }

  sockaddr_in place;
  Guests guests;
};

/// Says hello with the token, waits for the welcome, and speaks.
void call(Door& door, Link& link) {
  Hello hello;
  hello.from = RankId(1);
  hello.to = RankId(0);
  hello.token = kToken;
  link.queue(FrameType::kHello, &hello, sizeof hello);
  ASSERT_EQ(link.send(), Link::Outcome::kOpen);
  std::vector<Frame> frames;
  for (int i = 0; i < 1000 && frames.empty(); ++i) {
    door.serve(0.005);
    link.receive_hello(frames);
  }
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].type, FrameType::kWelcome);
  const Beat beat;
  link.queue(FrameType::kBeat, &beat, sizeof beat);
  link.send();
}

TEST(GuestsTest, IdleOnesAreFewAndKeepNobodyOut) {
  Door door;
  std::vector<int> idle;
  for (int i = 0; i < 150; ++i) {
    idle.push_back(connect_to(door.place));
    door.guests.serve(seconds_now());
  }
  door.serve(0.2);
  EXPECT_LE(door.polled(), 40u);
  Link link(Descriptor(connect_to(door.place, false)));
  call(door, link);
  const std::vector<Arrival> arrivals = door.serve(2);
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].from, RankId(1));
  EXPECT_EQ(arrivals[0].frames.size(), 1u);
  for (const int fd : idle) close(fd);
}

TEST(GuestsTest, OneHelloIsReadAndNoMore) {
  Door door;
  // What begins as a hello, a long frame, and a frame of nothing.
  for (const std::vector<uint32_t>& begin : {std::vector<uint32_t>{28, 1}, {60000, 1}, {0, 1}, {28, 3}}) {
    const int fd = connect_to(door.place, false);
    std::string flood(1 << 20, 'x');
    std::memcpy(flood.data(), begin.data(), begin.size() * sizeof begin[0]);
    size_t taken = 0;
    bool open = true;
    for (int i = 0; i < 300 && open; ++i) {
      const ssize_t sent = send(fd, flood.data() + taken % 1024, flood.size() - 1024, MSG_NOSIGNAL);
      open = sent >= 0 || errno == EAGAIN;
      taken += sent > 0 ? static_cast<size_t>(sent) : 0;
      door.serve(0.002);
    }
    EXPECT_FALSE(open) << begin[0];
    EXPECT_LT(taken, size_t{16} << 20) << "beyond what the system buffers";
    EXPECT_EQ(door.polled(), 1u) << "the listener alone";
    close(fd);
  }
}

TEST(GuestsTest, AWrongTokenIsTurnedAwayAtOnce) {
  Door door;
  for (const int wrong : {0, 15}) {
    Hello hello;
    hello.from = RankId(1);
    hello.to = RankId(0);
    hello.token = kToken;
    hello.token[static_cast<size_t>(wrong)] ^= 1;
    Link link(Descriptor(connect_to(door.place, false)));
    link.queue(FrameType::kHello, &hello, sizeof hello);
    link.send();
    std::vector<Frame> frames;
    Link::Outcome outcome = Link::Outcome::kOpen;
    for (int i = 0; i < 200 && outcome == Link::Outcome::kOpen; ++i) {
      door.serve(0.005);
      outcome = link.receive(frames);
    }
    EXPECT_NE(outcome, Link::Outcome::kOpen);
    EXPECT_TRUE(frames.empty());
  }
}

TEST(GuestsTest, CallersComeInWhereTheProgramHasUsedUpAllDescriptors) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    Door door;
    rlimit limit{200, 200};
    setrlimit(RLIMIT_NOFILE, &limit);
    Link link(Descriptor(connect_to(door.place, false)));
    std::vector<int> files;
    for (int fd = dup(0); fd >= 0; fd = dup(0)) files.push_back(fd);
    call(door, link);
    _exit(door.serve(2).size() == 1 && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// AddressSanitizer keeps what was freed (its quarantine), so that memory grows with every caller that came and went.
#if ROBUSTA_ADDRESS_SANITIZER
constexpr size_t kMostGrowthKb = 256 << 10;
#else
constexpr size_t kMostGrowthKb = 16 << 10;
#endif

size_t number_in(const std::string& text, const std::string& field) {
  return std::stoul(text.substr(text.find(field) + field.size()));
}

size_t descriptors_of(int pid) {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<size_t>(std::distance(all, {}));
}

TEST(GuestsTest, AFloodHarmsNoJob) {
  ForkedJob job({"n1", "n2", "n2"}, [](Communicator& world, ForkedJob& job) {
    LivenessOptions options;
    options.timeout_s = 4;
    LivenessWatch watch(world, options);
    for (int64_t iteration = 0; iteration < 300; ++iteration) {
      watch.progress(iteration);
      watch.doing("conv1 forward");
      if (iteration == 0) job.ready();
      nap(0.01);
    }
    watch.goodbye();
    return 0;
  });
  ASSERT_TRUE(job.wait_ready()) << job.all_said();
  const std::vector<sockaddr_in> places = listening_of(job.pid(0));
  ASSERT_FALSE(places.empty());
  for (const sockaddr_in& place : places) EXPECT_NE(place.sin_addr.s_addr, htonl(INADDR_ANY));
  const std::string status = "/proc/" + std::to_string(job.pid(0)) + "/status";
  const size_t before = number_in(read_file(status), "VmRSS:"), files = descriptors_of(job.pid(0));
  const std::string flood(1 << 16, '\1');
  std::vector<int> idle, floods(3, -1);
  size_t most_files = files, most_kb = before;
  for (const double end = seconds_now() + 1.5; seconds_now() < end;) {
    if (idle.size() < 500) idle.push_back(connect_to(places[0], false));
    for (int& fd : floods) {
      if (fd < 0) fd = connect_to(places[0], false);
      if (send(fd, flood.data(), flood.size(), MSG_NOSIGNAL) < 0 && errno != EAGAIN) {
        close(fd);
        fd = -1;
      }
    }
    most_files = std::max(most_files, descriptors_of(job.pid(0)));
    most_kb = std::max(most_kb, number_in(read_file(status), "VmRSS:"));
  }
  EXPECT_LE(most_files, files + 40);
  EXPECT_LE(most_kb, before + kMostGrowthKb);
  EXPECT_TRUE(job.wait_end(20));
  for (const auto& [rank, code] : job.codes) EXPECT_EQ(code, 0) << job.said(rank);
  for (const int fd : idle) close(fd);
}

}  // namespace
}  // namespace robusta::test::guests_test
