// The grammar of -ddl: words that begin with a dash take one value each, in any order; the last of equal words counts,
// as in IBM's program.

#include "comm/ddl_options.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <sstream>
#include <string_view>

#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

constexpr size_t kMostDims = 4;
constexpr std::string_view kModes = "bnrmcp";
constexpr char kModeForm[] = "write a letter of b, n, r, m, c, p, a colon and 1 to 4 dims: -mode b:4x2x1";

[[noreturn]] void refuse(const std::string& cause, const std::string& fix) {
  throw Error(ErrorKind::kUsage, "-ddl: " + cause, fix);
}

/// The whole of `text` as a number, or false.
template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

void read_mode(const std::string& text, DdlOptions& options) {
  const auto wrong = [&](const std::string& why) { refuse("-mode " + text + ": " + why, kModeForm); };
  if (text.size() < 2 || text[1] != ':') wrong("there is no letter and colon before the dims");
  if (kModes.find(text[0]) == std::string_view::npos) wrong(str("there is no mode '", text[0], "'"));
  options.mode = static_cast<ReduceMode>(text[0]);
  options.dims.clear();
  std::istringstream dims(text.substr(2) + "x");
  for (std::string dim; std::getline(dims, dim, 'x');) {
    int value = 0;
    if (!read_number(dim, value) || value < 1) wrong("\"" + dim + "\" is no dim");
    options.dims.push_back(value);
  }
  if (options.dims.size() > kMostDims) wrong(str(options.dims.size(), " dims are too many"));
}

/// Sets an int within bounds.
template <int DdlOptions::*kField, int kLowest, int kHighest>
bool read_int(const std::string& text, DdlOptions& options) {
  int value = 0;
  if (!read_number(text, value) || value < kLowest || value > kHighest) return false;
  options.*kField = value;
  return true;
}

enum class Zero { kRefused, kAllowed };

template <double DdlOptions::*kField, Zero kZero>
bool read_size(const std::string& text, DdlOptions& options) {
  double value = 0;
  // The comparison refuses nan; infinity is no size and no time.
  if (!read_number(text, value) || !(value >= 0 && value < 1e9)) return false;
  if (value == 0 && kZero == Zero::kRefused) return false;
  options.*kField = value;
  return true;
}

bool read_compression(const std::string& text, DdlOptions& options) {
  if (text == "none") return options.wire = {}, true;
  if (text == "fp16") return options.wire = {Compression::kFp16}, true;
  if (text == "bf16") return options.wire = {Compression::kBf16}, true;
  if (text == "int8") return options.wire = {Compression::kInt8}, true;
  constexpr std::string_view kTop = "topk:";
  double share = 0;
  if (!text.starts_with(kTop) || !read_number(std::string_view(text).substr(kTop.size()), share)) return false;
  // Of more than half a place and a value take as much as all values.
  if (!(share > 0 && share <= 0.5)) return false;
  return options.wire = {Compression::kTopK, share}, true;
}

/// 1 would be no momentum that ever fades.
bool read_slow_momentum(const std::string& text, DdlOptions& options) {
  double value = 0;
  if (!read_number(text, value) || !(value >= 0 && value < 1)) return false;
  options.slow_momentum = value;
  return true;
}

/// "0-3,4-7,8": ranges of ranks, and ranks by themselves.
bool read_sets(const std::string& text, DdlOptions& options) {
  std::vector<ProcessSet> sets;
  std::istringstream ranges(text + ",");
  for (std::string range; std::getline(ranges, range, ',');) {
    const size_t dash = range.find('-');
    ProcessSet set;
    if (!read_number(std::string_view(range).substr(0, dash), set.first)) return false;
    set.last = set.first;
    if (dash != std::string::npos && !read_number(std::string_view(range).substr(dash + 1), set.last)) return false;
    if (set.first < 0 || set.last < set.first) return false;
    sets.push_back(set);
  }
  options.sets = std::move(sets);
  return true;
}

bool read_op(const std::string& text, DdlOptions& options) {
  if (text == "sum") return options.op = GradientOp::kSum, true;
  if (text == "adasum") return options.op = GradientOp::kAdasum, true;
  return false;
}

/// "none", "rate", or "delay:" and lambda.
bool read_compensation(const std::string& text, DdlOptions& options) {
  ServerOptions& served = options.served;
  if (text == "none") return served.compensation = Compensation::kNone, true;
  if (text == "rate") return served.compensation = Compensation::kRate, true;
  constexpr std::string_view kDelayed = "delay:";
  double lambda = 0;
  if (!text.starts_with(kDelayed) || !read_number(std::string_view(text).substr(kDelayed.size()), lambda)) return false;
  if (!(lambda > 0 && lambda < 1e9)) return false;
  served.compensation = Compensation::kDelay;
  served.delay_weight = lambda;
  return true;
}

template <int ServerOptions::*kField, int kLowest>
bool read_of_servers(const std::string& text, DdlOptions& options) {
  int value = 0;
  if (!read_number(text, value) || value < kLowest) return false;
  options.served.*kField = value;
  return true;
}

bool read_shard(const std::string& text, DdlOptions& options) {
  if (text == "none") return options.shard = Shard::kNone, true;
  if (text == "states") return options.shard = Shard::kStates, true;
  if (text == "gradients") return options.shard = Shard::kGradients, true;
  return false;
}

/// "none", "auto", or a rate and what a message takes beside: "1.2:50".
bool read_fit(const std::string& text, DdlOptions& options) {
  if (text == "none") return options.fit = {}, true;
  if (text == "auto") return options.fit = {.asked = true}, true;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  FitOptions fit{.asked = true};
  const std::string_view whole(text);
  if (!read_number(whole.substr(0, colon), fit.gb_per_second)) return false;
  if (!read_number(whole.substr(colon + 1), fit.microseconds)) return false;
  // The comparisons refuse nan.
  if (!(fit.gb_per_second > 0 && fit.gb_per_second < 1e6 && fit.microseconds >= 0 && fit.microseconds < 1e9))
    return false;
  return options.fit = fit, true;
}

bool read_bounds(const std::string& text, DdlOptions& options) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  ElasticBounds& bounds = options.elastic;
  const std::string_view whole(text);
  return read_number(whole.substr(0, colon), bounds.fewest) && read_number(whole.substr(colon + 1), bounds.most) &&
         bounds.fewest >= 1 && bounds.most >= bounds.fewest;
}

/// What cannot be where ranks come and go.
void check_elastic(const DdlOptions& options) {
  if (!options.elastic.asked()) return;
  if (!options.dims.empty()) {
    refuse("-elastic lets the number of ranks change, and -mode gives it as dims", "leave one of them out");
  }
  if (options.shard != Shard::kNone) {
    refuse("-elastic goes on without a rank that is gone, and with -shard its part of the states would be gone, too",
           "leave one of them out");
  }
  const char* const fixed = !options.sets.empty()               ? "-sets"
                            : has_local_steps(options)          ? "-sync_every"
                            : options.op == GradientOp::kAdasum ? "-op adasum"
                                                                : nullptr;
  if (fixed)
    refuse(str("-elastic lets the number of ranks change, which ", fixed, " needs to stay"), "leave one of them out");
  if (options.timeout_s == 0) refuse("-elastic wants a watch over the ranks, and -timeout 0 has none", "give seconds");
}

struct Word {
  const char* name;
  const char* wants;  ///< "a whole number from 0 on"
  bool (*read)(const std::string& value, DdlOptions& options);
};

constexpr char kCount[] = "a whole number from 0 on";
constexpr Word kWords[] = {
    {"mode", kModeForm, [](const std::string& value, DdlOptions& options) { return read_mode(value, options), true; }},
    {"dump_iter", kCount, read_int<&DdlOptions::dump_iter, 0, INT_MAX>},
    {"dev_sync", "0, 1 or 2", read_int<&DdlOptions::dev_sync, 0, 2>},
    {"rebind_iter", kCount, read_int<&DdlOptions::rebind_iter, 0, INT_MAX>},
    {"dbg_level", "0, 1 or 2", read_int<&DdlOptions::dbg_level, 0, 2>},
    {"bucket_mb", "a size above 0 in MB", read_size<&DdlOptions::bucket_mb, Zero::kRefused>},
    {"compress", "none, fp16, bf16, int8, or topk: and a share above 0 up to 0.5, such as topk:0.01", read_compression},
    {"shard", "none, states or gradients", read_shard},
    {"op", "sum or adasum", read_op},
    {"sets", "ranges of ranks that train by themselves, such as 0-3,4-7", read_sets},
    {"sync_every", "a number of iterations from 1 on", read_int<&DdlOptions::sync_every, 1, INT_MAX>},
    {"slow_momentum", "a number from 0 to below 1", read_slow_momentum},
    {"timeout", "a time in seconds, or 0 for none", read_size<&DdlOptions::timeout_s, Zero::kAllowed>},
    {"elastic", "the fewest and the most ranks, such as 2:8", read_bounds},
    {"groups", "a number of groups from 1 on", read_of_servers<&ServerOptions::groups, 1>},
    {"servers", kCount, read_of_servers<&ServerOptions::servers, 0>},
    {"max_staleness", kCount, read_of_servers<&ServerOptions::max_staleness, 0>},
    {"compensate", "none, rate, or delay: and a weight above 0, such as delay:0.04", read_compensation},
    {"fit", "none, auto, or GB/s and microseconds of a link, such as 1.2:50", read_fit},
    {"check_iter", kCount, read_int<&DdlOptions::check_iter, 0, INT_MAX>},
};

std::vector<std::string> known_words() {
  std::vector<std::string> names{"auto"};
  for (const Word& word : kWords) names.push_back(str("-", word.name));
  return names;
}

[[noreturn]] void refuse_unknown(const std::string& word) {
  std::string all;
  for (const std::string& name : known_words()) all += (all.empty() ? "" : ", ") + name;
  refuse("unknown option \"" + word + "\"" + did_you_mean(word, known_words()), "known are " + all);
}

const Word& find_word(const std::string& name) {
  for (const Word& word : kWords) {
    if (name == str("-", word.name) || name == str("--", word.name)) return word;
  }
  refuse_unknown(name);
}

/// Local steps sum within X, and what then travels between hosts are weights.
void refuse_beside_local_steps(const DdlOptions& options) {
  if (!has_local_steps(options)) {
    if (options.slow_momentum > 0)
      refuse("-slow_momentum is that of averages, of which there are none", "give -sync_every, too, or leave it out");
    return;
  }
  const std::string local = str("-sync_every ", options.sync_every);
  if (!sums_by_dimension(options.mode))
    refuse(local + " sums gradients within the first dim alone, which this mode does not", "give -mode b:XxY with it");
  if (options.wire.compress != Compression::kNone)
    refuse(local + " sends weights, and -compress rounds gradients", "leave one of them out");
  if (options.shard != Shard::kNone)
    refuse(local + " needs all states on each rank, and -shard shares them out", "leave one of them out");
}

/// It combines gradients of whole parameters, in memory of the host.
void refuse_beside_adasum(const DdlOptions& options) {
  if (options.op != GradientOp::kAdasum) return;
  const std::string adasum = "-op adasum";
  if (!sums_by_dimension(options.mode))
    refuse(adasum + " averages within the first dim alone, which this mode does not", "give -mode b:XxY with it");
  if (options.wire.compress != Compression::kNone)
    refuse(adasum + " multiplies gradients with each other, and -compress rounds them", "leave one of them out");
  if (options.shard != Shard::kNone)
    refuse(adasum + " is no sum that has halves, as -shard needs it", "leave one of them out");
  if (has_local_steps(options))
    refuse(adasum + " is of the gradients of each iteration, and -sync_every sums none over all ranks",
           "leave one of them out");
}

/// What compression leaves out of a gradient is kept by the place where the gradient lies, and that is others' too.
void check_sharded_gradients(const DdlOptions& options) {
  if (options.shard == Shard::kGradients && options.wire.keeps_left())
    refuse("-shard gradients reuses the memory of gradients, by which -compress int8 and topk keep what they leave out",
           "give -compress bf16 or fp16, or -shard states");
}

/// Groups and servers have ways of their own for what these do over all ranks.
void check_servers(const DdlOptions& options) {
  const ServerOptions& served = options.served;
  if (served.groups > 1 && served.servers == 0)
    refuse(str("-groups ", served.groups, " (-n_group) need servers that hold the parameters"),
           "give -servers 1 (-n_server 1) or more, or one group");
  if (served.servers == 0) {
    if (served.max_staleness > 0 || served.compensation != Compensation::kNone)
      refuse(str(served.max_staleness > 0 ? "-max_staleness" : "-compensate",
                 " is of gradients that parameter servers take, and there are none"),
             "give -groups and -servers, too, or leave it out");
    return;
  }
  if (served.in_step() && served.compensation != Compensation::kNone)
    refuse("-compensate is of gradients that come late, and with -max_staleness 0 none does",
           "give -max_staleness, or leave it out");
  const char* const other = !options.sets.empty()                         ? "-sets"
                            : options.elastic.asked()                     ? "-elastic"
                            : has_local_steps(options)                    ? "-sync_every"
                            : options.op == GradientOp::kAdasum           ? "-op adasum"
                            : options.shard != Shard::kNone               ? "-shard"
                            : options.wire.keeps_left()                   ? "-compress int8 or topk"
                            : options.check_iter > 0 && !served.in_step() ? "-check_iter"
                                                                          : nullptr;
  if (other) refuse(str("-servers hold all parameters, which goes not with ", other), "leave one of them out");
}

/// Layers that are cut have parts on fixed ranks, which sum their gradients by themselves.
void check_fit(const DdlOptions& options) {
  if (!options.fit.asked) return;
  const char* const other = options.shard != Shard::kNone       ? "-shard"
                            : has_local_steps(options)          ? "-sync_every"
                            : options.op == GradientOp::kAdasum ? "-op adasum"
                            : options.elastic.asked()           ? "-elastic"
                            : options.served.asked()            ? "-servers"
                            : options.wire.keeps_left()         ? "-compress int8 or topk"
                                                                : nullptr;
  if (other) refuse(str("-fit cuts layers among the ranks, which goes not with ", other), "leave one of them out");
}

}  // namespace

int ranks_per_group(const ServerOptions& options, int ranks) {
  const int workers = ranks - options.servers;
  if (workers < options.groups || workers % options.groups != 0)
    refuse(str(ranks, " ranks are not ", options.groups, " equal groups (-n_group) and ", options.servers,
               " parameter servers (-n_server)"),
           str("start ", options.groups, " x the ranks of a group + ", options.servers, ", such as ",
               options.groups * std::max(1, workers / options.groups) + options.servers));
  return workers / options.groups;
}

bool sums_by_dimension(ReduceMode mode) {
  return mode == ReduceMode::kByHosts || mode == ReduceMode::kLayered || mode == ReduceMode::kCustom ||
         mode == ReduceMode::kExplored;
}

int set_of_rank(const DdlOptions& options, int rank, int ranks) {
  if (options.sets.empty()) return 0;
  std::vector<int> sets_of(static_cast<size_t>(ranks));
  int found = 0;
  for (size_t s = 0; s < options.sets.size(); ++s) {
    const ProcessSet& set = options.sets[s];
    if (set.last >= ranks)
      refuse(str("-sets names rank ", set.last, ", and there are ", ranks), "name ranks from 0 to one less than that");
    for (int r = set.first; r <= set.last; ++r) ++sets_of[static_cast<size_t>(r)];
    if (set.first <= rank && rank <= set.last) found = static_cast<int>(s);
  }
  for (int r = 0; r < ranks; ++r) {
    const int times = sets_of[static_cast<size_t>(r)];
    if (times != 1)
      refuse(str("-sets: rank ", r, " is in ", times == 0 ? "none of them" : "more than one"),
             "give each rank one set");
  }
  return found;
}

DdlOptions parse_ddl_options(const std::string& text) {
  DdlOptions options;
  bool automatic = false;
  std::istringstream in(text);
  for (std::string name, value; in >> name;) {
    if (name == "auto") {
      automatic = true;
      continue;
    }
    // "-name value" as IBM writes it, or "-name=value" as our own flags may be written.
    const size_t equals = name.find('=');
    const Word& word = find_word(name.substr(0, equals));
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
    } else if (!(in >> value)) {
      refuse(str("-", word.name, " wants a value"), word.wants);
    }
    if (!word.read(value, options))
      refuse(str("-", word.name, " ", value, " is not allowed"), str("give ", word.wants));
  }
  if (automatic && options.mode != ReduceMode::kByHosts) {
    refuse("auto chooses mode and dims, and -mode gives them", "leave one of them out");
  }
  if (automatic) options.mode = ReduceMode::kAutomatic;
  refuse_beside_local_steps(options);
  refuse_beside_adasum(options);
  check_sharded_gradients(options);
  check_elastic(options);
  check_servers(options);
  check_fit(options);
  return options;
}

}  // namespace robusta
