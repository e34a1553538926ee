// A host that is kept out has one entry that says so, which is never forgotten.

#include "comm/elastic/ledger.h"

#include <algorithm>

#include "comm/liveness/messages.h"

namespace robusta::elastic {

bool Ledger::note(const std::string& host, double now) {
  if (keeps_out(host)) return false;
  std::erase_if(entries_, [&](const Entry& entry) { return !entry.kept_out && now - entry.at > within_; });
  entries_.push_back({host, now});
  const auto is_here = [&](const Entry& entry) { return entry.host == host; };
  if (std::ranges::count_if(entries_, is_here) < kMostLosses) return false;
  std::erase_if(entries_, is_here);
  entries_.push_back({host, now, true});
  return true;
}

bool Ledger::keeps_out(const std::string& host) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.kept_out && entry.host == host; });
}

std::vector<Loss> Ledger::losses(double now) const {
  std::vector<Loss> all;
  for (const Entry& entry : entries_) {
    Loss& loss = all.emplace_back();
    liveness::copy_text(loss.host, entry.host);
    loss.age = now - entry.at;
    loss.kept_out = entry.kept_out ? 1 : 0;
  }
  return all;
}

void Ledger::take_over(const std::vector<Loss>& losses, double now) {
  entries_.clear();
  for (const Loss& loss : losses) entries_.push_back({loss.host, now - loss.age, loss.kept_out != 0});
}

}  // namespace robusta::elastic
