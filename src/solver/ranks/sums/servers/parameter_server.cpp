// A push lies in memory of its own until the driver takes it, and the answer goes out from there: a group never waits
// for another one's message, only for the rule.
#include "solver/ranks/sums/servers/parameter_server.h"

#include <algorithm>
#include <cstring>

namespace robusta {
namespace {

constexpr int kSlot = 0, kRoot = 0;

}  // namespace

ParameterServer::ParameterServer(ServedSum& sum) : lines_(std::make_shared<Lines>()) {
  lines_->type = sum.type();
  lines_->pieces = sum.own_pieces();
  lines_->answers = sum.is_first_server();
  const Bucket& tail = sum.buckets()[sum.last_sum()];
  for (std::unique_ptr<Communicator>& communicator : sum.take_lines()) {
    Line& line = *lines_->all.emplace_back(std::make_unique<Line>());
    line.communicator = std::move(communicator);
    line.channel = line.communicator->open_channel(1, Traffic::kBulk);
    line.values.resize(sum.own_bytes());
    line.tail.resize(tail_of(tail, sum.type()).size());
  }
  for (const std::unique_ptr<Line>& line : lines_->all) {
    line->thread = std::thread([lines = lines_, &line = *line] { lines->run(line); });
  }
}

ParameterServer::~ParameterServer() {
  bool joins = false;
  {
    const std::lock_guard lock(lines_->mutex);
    lines_->ending = true;
    joins = all_paused();
  }
  lines_->changed.notify_all();
  for (const std::unique_ptr<Line>& line : lines_->all) {
    if (joins) {
      line->thread.join();
    } else {
      line->thread.detach();
    }
  }
}

bool ParameterServer::all_paused() const {
  return std::ranges::all_of(lines_->all, [](const auto& line) { return line->at == At::kPaused; });
}

void ParameterServer::Lines::set(Line& line, At at) {
  {
    const std::lock_guard lock(mutex);
    line.at = at;
    if (at == At::kPushed) line.order = pushes++;
  }
  changed.notify_all();
}

bool ParameterServer::Lines::await(Line& line, At at) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return line.at == at || ending; });
  return line.at == at;
}

void ParameterServer::Lines::run(Line& line) {
  try {
    while (await(line, At::kReceiving)) {
      while (receive(line)) {
        set(line, At::kPushed);
        if (!await(line, At::kAnswering)) return;
        send(line);
        set(line, At::kReceiving);
      }
      set(line, At::kPaused);
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
    changed.notify_all();
  }
}

bool ParameterServer::Lines::receive(Line& line) {
  const auto take = [&](void* to, size_t bytes) {
    line.channel->receive(kSlot, to, bytes, kRoot);
    line.channel->wait(kSlot);
  };
  Push kind = Push::kPause;
  take(&kind, sizeof kind);
  if (kind == Push::kPause) return false;
  std::byte* next = line.values.data();
  for (const size_t bytes : pieces) {
    take(next, bytes);
    next += bytes;
  }
  take(line.tail.data(), line.tail.size());
  line.votes = read_votes(type, line.tail.data());
  return true;
}

/// In the order in which the group waits: what is told, then the weights of the buckets that backward fills last.
void ParameterServer::Lines::send(Line& line) {
  const auto give = [&](const void* from, size_t bytes) {
    line.channel->send(kSlot, from, bytes, kRoot);
    line.channel->wait(kSlot);
  };
  if (answers) give(&line.answer, sizeof line.answer);
  const std::byte* end = line.values.data() + line.values.size();
  for (size_t i = pieces.size(); i-- > 0;) {
    end -= pieces[i];
    give(end, pieces[i]);
  }
}

template <typename Ready>
void ParameterServer::wait(const Ready& ready) {
  std::unique_lock lock(lines_->mutex);
  lines_->changed.wait(lock, [&] { return lines_->error || ready(); });
  if (lines_->error) std::rethrow_exception(lines_->error);
}

void ParameterServer::resume() {
  {
    const std::lock_guard lock(lines_->mutex);
    for (const std::unique_ptr<Line>& line : lines_->all) line->at = At::kReceiving;
  }
  lines_->changed.notify_all();
}

void ParameterServer::await_pause() {
  wait([&] { return all_paused(); });
}

std::vector<int> ParameterServer::pushed() const {
  std::vector<int> groups;
  for (int g = 0; g < static_cast<int>(lines_->all.size()); ++g) {
    if (line(g).at == At::kPushed) groups.push_back(g);
  }
  std::ranges::sort(groups, {}, [&](int g) { return line(g).order; });
  return groups;
}

std::vector<int> ParameterServer::waiting() const {
  const std::lock_guard lock(lines_->mutex);
  return pushed();
}

void ParameterServer::await(int group) {
  wait([&] { return line(group).at == At::kPushed; });
}

void ParameterServer::await_all() { await_more_than(lines_->all.size() - 1); }

void ParameterServer::await_more_than(size_t groups) {
  wait([&] { return pushed().size() > groups; });
}

std::byte* ParameterServer::add_gradients() {
  std::byte* const sum = gradients(0);
  dispatch(lines_->type, [&](auto type) {
    using T = decltype(type);
    const auto count = static_cast<int64_t>(line(0).values.size() / sizeof(T));
    auto* const total = reinterpret_cast<T*>(sum);
    for (int g = 1; g < static_cast<int>(lines_->all.size()); ++g) {
      const auto* const more = reinterpret_cast<const T*>(gradients(g));
      for (int64_t i = 0; i < count; ++i) total[i] += more[i];
    }
  });
  return sum;
}

void ParameterServer::answer(int group, const void* weights, const Answer& answer) {
  Line& answered = line(group);
  std::memcpy(answered.values.data(), weights, answered.values.size());
  answered.answer = answer;
  lines_->set(answered, At::kAnswering);
}

}  // namespace robusta
