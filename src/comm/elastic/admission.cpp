// Two rounds: who is asked and does not answer within a moment is dropped before anybody is admitted, so that a member
// that has gone to another leader meanwhile is rarely in the list of this one. Where it is all the same, the generation
// breaks at its start, and its members meet again.

#include "comm/elastic/admission.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/str.h"
#include "comm/liveness/messages.h"

namespace robusta::elastic {
namespace {

constexpr std::chrono::milliseconds kConfirmedWithin{1500};
constexpr std::chrono::milliseconds kLookWhileAsking{20};
constexpr std::chrono::seconds kToldWithin{5};

/// What comes first is seated first.
auto place_in_line(const Call& call) {
  const bool returns = call.errand == Errand::kReturn;
  return std::make_tuple(returns ? 0 : 1, returns ? -call.progress : 0, call.rank);
}

std::string letters() {
  const Token token = liveness::draw_token();
  std::string text;
  for (const uint8_t byte : token) text += static_cast<char>('a' + byte % 26);
  return text;
}

/// To all of them, one after the other: what one cannot take it will miss, and the watch will find it.
void tell_members(const Admission& news, const std::vector<const Gathering::Caller*>& callers) {
  Answer answer;
  answer.word = Word::kAdmitted;
  answer.ranks = static_cast<int32_t>(news.members.size());
  answer.losses = static_cast<int32_t>(news.losses.size());
  answer.generation = news.generation;
  answer.batch = news.batch;
  answer.token = news.token;
  liveness::copy_text(answer.job, news.job);
  const size_t members = news.members.size() * sizeof(Member), losses = news.losses.size() * sizeof(Loss);
  std::string message(sizeof answer + 2 * members + losses, '\0');
  char* const lists = message.data() + sizeof answer;
  std::memcpy(lists, news.members.data(), members);
  std::memcpy(lists + members, news.offices.data(), members);
  if (losses > 0) std::memcpy(lists + 2 * members, news.losses.data(), losses);
  for (size_t rank = 0; rank < callers.size(); ++rank) {
    if (!callers[rank]) continue;  // the leader's own seat
    answer.rank = static_cast<int32_t>(rank);
    std::memcpy(message.data(), &answer, sizeof answer);
    sockets::send_all(callers[rank]->socket.get(), message.data(), message.size(), Clock::now() + kToldWithin);
  }
}

}  // namespace

double steady_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// Whether all of them have said yes; who has not is gone from the gathering.
bool Admitting::ask(const std::vector<size_t>& chosen) {
  std::vector<Member> asked;
  Answer question;
  question.word = Word::kPropose;
  for (const size_t at : chosen) {
    Gathering::Caller& caller = gathering_.callers()[at];
    caller.confirmed = false;
    asked.push_back(caller.call.self);
    tell(caller, question);
  }
  const auto is_asked = [&](const Gathering::Caller& caller) {
    return std::ranges::any_of(asked, [&](const Member& member) { return same_place(member, caller.call.self); });
  };
  const auto silent = [&](const Gathering::Caller& caller) { return is_asked(caller) && !caller.confirmed; };
  const auto deadline = Clock::now() + kConfirmedWithin;
  while (std::ranges::any_of(gathering_.callers(), silent) && Clock::now() < deadline) {
    gathering_.serve(listeners_, kLookWhileAsking, judge_);
  }
  std::erase_if(gathering_.callers(), silent);
  return std::ranges::count_if(gathering_.callers(), is_asked) == static_cast<std::ptrdiff_t>(asked.size());
}

std::optional<Admission> Admitting::admit(const Call& self, const Ledger& ledger) {
  std::vector<Gathering::Caller>& callers = gathering_.callers();
  // The leader stands behind the callers until the line is in order.
  const size_t leader = callers.size();
  const auto call_of = [&](size_t at) -> const Call& { return at == leader ? self : callers[at].call; };
  std::vector<size_t> line(leader + 1);
  std::iota(line.begin(), line.end(), size_t{0});
  std::ranges::stable_sort(line, {}, [&](size_t at) { return place_in_line(call_of(at)); });
  const int count = seats(static_cast<int>(line.size()), standing_.bounds, standing_.batch);
  if (count == 0) return {};
  const auto own = std::ranges::find(line, leader);
  const auto last = line.begin() + (count - 1);
  if (own > last) std::iter_swap(own, last);
  line.resize(static_cast<size_t>(count));

  std::vector<size_t> others;
  std::ranges::copy_if(line, std::back_inserter(others), [&](size_t at) { return at != leader; });
  Admission news;
  for (const size_t at : line) {
    news.members.push_back(call_of(at).self);
    news.offices.push_back(call_of(at).office);
  }
  if (!ask(others)) return {};
  news.rank = static_cast<int>(std::ranges::find(line, leader) - line.begin());
  news.token = liveness::draw_token();
  news.generation = standing_.generation + 1;
  news.batch = standing_.batch;
  news.job = standing_.job.empty() ? letters() : standing_.job;
  news.losses = ledger.losses(steady_seconds());
  // Callers may have come and gone while they were asked: they are found by their places.
  const auto caller_at = [&](const Member& member) -> const Gathering::Caller* {
    const auto found = std::ranges::find_if(
        callers, [&](const Gathering::Caller& caller) { return same_place(caller.call.self, member); });
    return found == callers.end() ? nullptr : &*found;
  };
  std::vector<const Gathering::Caller*> seated;
  for (const Member& member : news.members) seated.push_back(caller_at(member));
  tell_members(news, seated);
  std::erase_if(callers, [&](const Gathering::Caller& caller) {
    return std::ranges::any_of(news.members, [&](const Member& m) { return same_place(m, caller.call.self); });
  });
  // Who stands by has no part in the generation that begins, and none in how it ends.
  for (Gathering::Caller& caller : callers) caller.call.errand = Errand::kJoin;
  return news;
}

}  // namespace robusta::elastic
