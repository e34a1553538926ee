// A cache and nothing more: whatever goes wrong with the file, the choices are measured again.

#include "comm/reduce/choice_cache.h"

#include <cstdlib>
#include <exception>
#include <sstream>

#include "base/cache_file.h"
#include "base/str.h"
#include "comm/dims.h"

namespace robusta {
namespace {

using Choices = std::map<std::string, std::string>;

/// FNV-1a: the same number for the same text on every machine.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

Choices parse(std::istream& in) {
  Choices choices;
  for (std::string key, choice; in >> key >> choice;) choices[key] = choice;
  return choices;
}

std::string text_of(const Choices& choices) {
  std::string text;
  for (const auto& [key, choice] : choices) text += key + " " + choice + "\n";
  return text;
}

Choices read_file(const std::string& file) {
  std::istringstream in(read_cache_file(file));
  return parse(in);
}

}  // namespace

std::string default_choice_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return str(cache, "/robusta/all_reduce");
  if (const char* home = std::getenv("HOME"); home && *home) return str(home, "/.cache/robusta/all_reduce");
  return "";
}

ChoiceCache::ChoiceCache(Communicator& world, const Topology& topology, std::string file)
    : file_(std::move(file)), writes_(world.rank() == 0 && !file_.empty()) {
  std::string hosts;
  for (const std::string& host : topology.hosts) hosts += host + ",";
  std::ostringstream prefix;
  prefix << std::hex << hash_of(hosts) << "/" << dims_text(topology.dims);
  prefix_ = prefix.str();
  // Rank 0 reads for all: ranks that chose otherwise would wait for each other.
  std::string text = writes_ ? text_of(read_file(file_)) : "";
  uint64_t length = text.size();
  world.broadcast(&length, sizeof length, 0);
  text.resize(length);
  world.broadcast(text.data(), length, 0);
  std::istringstream in(text);
  choices_ = parse(in);
}

std::string ChoiceCache::find(const std::string& key) const {
  const auto found = choices_.find(full_key(key));
  return found == choices_.end() ? "" : found->second;
}

void ChoiceCache::remember(const std::string& key, const std::string& choice) {
  std::string& kept = choices_[full_key(key)];
  dirty_ = dirty_ || kept != choice;
  kept = choice;
}

void ChoiceCache::save() {
  if (!dirty_ || !writes_) return;
  dirty_ = false;
  try {
    update_cache_file(file_, [this](const std::string& text) {  // to which another job may have added choices
      std::istringstream in(text);
      Choices all = parse(in);
      for (const auto& [key, choice] : choices_) all[key] = choice;
      return text_of(all);
    });
  } catch (const std::exception&) {  // a full disk is no reason not to train
  }
}

}  // namespace robusta
