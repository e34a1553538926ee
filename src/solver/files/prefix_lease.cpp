// What Linux tells of machine and process (proc(5)): what was drawn at the boot, the namespace of ids, the start.
#include "solver/files/prefix_lease.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/str.h"
#include "base/temporary.h"
#include "comm/host_name.h"
#include "comm/liveness/roster.h"

namespace robusta {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string process_namespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  localtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// "key value" of one line. The value may hold blanks.
bool take_line(std::istream& in, const std::string& key, std::string& value) {
  std::string line;
  if (!std::getline(in, line) || !line.starts_with(key + ' ')) return false;
  value = line.substr(key.size() + 1);
  return true;
}

template <typename Number>
bool take_number(std::istream& in, const std::string& key, Number& value) {
  std::string text;
  if (!take_line(in, key, text)) return false;
  std::istringstream number(text);
  return static_cast<bool>(number >> value) && (number >> std::ws).eof();
}

/// Text of strangers goes into messages: one line, and not long.
std::string printable(const std::string& text) {
  std::string out = text.substr(0, 64);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return out;
}

}  // namespace

PrefixLease own_lease(const std::string& job) {
  PrefixLease lease;
  lease.host = host_name();
  lease.boot = first_line("/proc/sys/kernel/random/boot_id");
  lease.processes = process_namespace();
  lease.process = ::getpid();
  lease.started = liveness::process_start(lease.process);
  lease.since = local_time();
  lease.token = temporary_name("");
  lease.job = job;
  return lease;
}

std::string lease_text(const PrefixLease& lease) {
  char beat[24];
  std::snprintf(beat, sizeof beat, "%020llu", static_cast<unsigned long long>(lease.beat));
  return str("Held by a training that writes snapshots with this prefix; it removes the file when it ends.\n",  //
             "host ", lease.host, "\nboot ", lease.boot, "\nprocesses ", lease.processes, "\nprocess ", lease.process,
             "\nstarted ", lease.started, "\nsince ", lease.since, "\ntoken ", lease.token, "\nbeat ", beat, "\n",
             lease.job.empty() ? "" : str("job ", lease.job, "\n"));
}

bool parse_lease(const std::string& text, PrefixLease& lease) {
  std::istringstream in(text);
  std::string title;
  return std::getline(in, title) && take_line(in, "host", lease.host) && take_line(in, "boot", lease.boot) &&
         take_line(in, "processes", lease.processes) && take_number(in, "process", lease.process) &&
         take_number(in, "started", lease.started) && take_line(in, "since", lease.since) &&
         take_line(in, "token", lease.token) && take_number(in, "beat", lease.beat) &&
         (in.peek() == std::istream::traits_type::eof() || take_line(in, "job", lease.job));
}

HolderIs look_for_holder(const PrefixLease& lease) {
  const PrefixLease own = own_lease();
  const bool comparable = !own.boot.empty() && !own.processes.empty() && own.started != 0;
  if (!comparable || lease.boot != own.boot || lease.processes != own.processes) return HolderIs::kUnknown;
  return liveness::process_start(lease.process) == lease.started ? HolderIs::kAlive : HolderIs::kGone;
}

std::string describe(const PrefixLease& lease) {
  return str("process ", lease.process, " on ", printable(lease.host), ", since ", printable(lease.since));
}

}  // namespace robusta
