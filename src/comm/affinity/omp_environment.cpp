// libgomp reads its variables once, before main. So they are set, and the program starts itself again.

#include "comm/affinity/omp_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/str.h"
#include "comm/affinity/cores.h"

namespace robusta {
namespace {

constexpr const char* kDone = "ROBUSTA_OMP_TRANSLATED";

bool holds(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "proclist=[0,2-5],explicit" -> "0,2-5".
std::string processor_list(const std::string& affinity) {
  const size_t begin = affinity.find("proclist=[");
  const size_t end = affinity.find(']', begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return affinity.substr(begin + 10, end - begin - 10);
}

class Translator {
 public:
  explicit Translator(const std::function<const char*(const char*)>& get) : get_(get) {}

  void affinity() {
    const char* value = get_("KMP_AFFINITY");
    if (!value) return;
    const std::string text = lower(value), list = processor_list(text);
    if (!list.empty() && list.find_first_of("{}") == std::string::npos) {
      std::string blanks = list;
      std::replace(blanks.begin(), blanks.end(), ',', ' ');
      became("KMP_AFFINITY", value, "GOMP_CPU_AFFINITY", blanks);
    } else if (holds(text, "compact")) {
      became("KMP_AFFINITY", value, "OMP_PROC_BIND", "close");
    } else if (holds(text, "scatter") || holds(text, "balanced")) {
      became("KMP_AFFINITY", value, "OMP_PROC_BIND", "spread");
    } else if (holds(text, "none") || holds(text, "disabled")) {
      became("KMP_AFFINITY", value, "OMP_PROC_BIND", "false");
    } else {
      ignored("KMP_AFFINITY", value);
    }
  }

  void block_time() {
    const char* value = get_("KMP_BLOCKTIME");
    if (!value) return;
    const std::string text = lower(value);
    if (text == "0") {
      became("KMP_BLOCKTIME", value, "OMP_WAIT_POLICY", "passive");
    } else if (text == "infinite" || std::atol(value) >= 1000) {
      became("KMP_BLOCKTIME", value, "OMP_WAIT_POLICY", "active");
    } else {
      ignored("KMP_BLOCKTIME", value);
    }
  }

  void others() {
    for (const char* name : {"KMP_HW_SUBSET", "KMP_PLACE_THREADS", "KMP_SETTINGS", "MLSL_NUM_SERVERS",
                             "MLSL_SERVER_AFFINITY", "INTERNAL_THREADS_PIN"}) {
      if (const char* value = get_(name)) ignored(name, value);
    }
  }

  void sleep_when_waiting() {
    if (!get_("OMP_WAIT_POLICY") && !get_("GOMP_SPINCOUNT")) result_.set.try_emplace("OMP_WAIT_POLICY", "passive");
  }

  /// As long as waking a thread takes, which at most doubles the time lost (Karlin et al., "Empirical Studies of
  /// Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991). GNU's default, 300,000 looks, is longer than
  /// the time slice that a thread has beside another program, and the thread that is waited for may have none.
  void spin_briefly() {
    const char* threads = get_("OMP_NUM_THREADS");
    if (result_.set.contains("OMP_WAIT_POLICY") || (threads && std::string(threads) == "1")) return;
    if (!get_("OMP_WAIT_POLICY") && !get_("GOMP_SPINCOUNT")) {
      result_.set["GOMP_SPINCOUNT"] = kBriefSpin.substr(kBriefSpin.find('=') + 1);
    }
  }

  OmpTranslation take() { return std::move(result_); }

 private:
  void became(const char* name, const std::string& value, const char* ours, const std::string& setting) {
    if (get_(ours)) {
      result_.notes.push_back(str(name, '=', value, " is ignored: ", ours, " is set"));
      return;
    }
    result_.set[ours] = setting;
    result_.notes.push_back(str(name, '=', value, " is taken as ", ours, '=', setting));
  }
  void ignored(const char* name, const std::string& value) {
    result_.notes.push_back(str(name, '=', value, " means nothing to this program: ignored"));
  }

  const std::function<const char*(const char*)>& get_;
  OmpTranslation result_;
};

const char* get_variable(const char* name) { return std::getenv(name); }

int number_in(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::max(0, std::atoi(value)) : 0;
}

/// This process among those of its job on this host, as far as the launcher tells.
struct LocalRank {
  int rank = 0, ranks = 1;

  LocalRank() {
    for (const auto& [rank_name, ranks_name] :
         {std::pair{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
          std::pair{"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, std::pair{"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}}) {
      if (number_in(ranks_name) < 1) continue;
      ranks = number_in(ranks_name);
      rank = std::min(number_in(rank_name), ranks - 1);
      return;
    }
  }
  /// All of them may run everywhere.
  bool unbound() const { return ranks > 1 && own_cores().count() >= ::sysconf(_SC_NPROCESSORS_ONLN); }
};

/// Whether the ranks of this host have more threads than it has processors.
bool is_oversubscribed(const LocalRank& local) {
  if (local.ranks < 2) return false;
  const int threads = number_in("OMP_NUM_THREADS"), mine = own_cores().count();
  if (!local.unbound()) return threads > mine;
  // The thread that reduces gradients works beside those of OpenMP.
  return local.ranks * (std::max(threads, 1) + 1) > mine;
}

}  // namespace

OmpTranslation translate_omp(const std::function<const char*(const char*)>& get, bool oversubscribed) {
  Translator translator(get);
  translator.affinity();
  translator.block_time();
  translator.others();
  if (oversubscribed) translator.sleep_when_waiting();
  translator.spin_briefly();
  return translator.take();
}

void apply_omp_environment(char** argv) {
  if (std::getenv(kDone)) return;
  const LocalRank local;
  const OmpTranslation translation = translate_omp(get_variable, is_oversubscribed(local));
  // The library binds its threads within the processors it finds when loaded: this rank's share has to be all it finds.
  const bool binds = translation.set.contains("OMP_PROC_BIND") || std::getenv("OMP_PROC_BIND");
  const bool pins = binds && local.unbound();
  if (translation.set.empty() && !pins) return;
  if (pins) pin_to(share_of(own_cores(), local.rank, local.ranks));
  std::string notes;
  for (const std::string& note : translation.notes) notes += (notes.empty() ? "" : "\n") + note;
  ::setenv(kDone, notes.c_str(), 1);
  for (const auto& [name, value] : translation.set) ::setenv(name.c_str(), value.c_str(), 1);
  // By its own path first, as the kernel names a process by the file that it is told to run: top shall not say "exe".
  // Both come back only if they fail: then the library's defaults hold.
  std::error_code unknown;
  ::execv(std::filesystem::read_symlink("/proc/self/exe", unknown).c_str(), argv);
  ::execv("/proc/self/exe", argv);
}

int launched_here() { return LocalRank().ranks; }

std::vector<std::string> omp_notes() {
  const char* done = std::getenv(kDone);
  if (!done) return translate_omp(get_variable, false).notes;
  std::vector<std::string> notes;
  std::string text = done;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    notes.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return notes;
}

}  // namespace robusta
