// The grammar of -ddl: words that begin with a dash take one value each, in any order; the last of equal words counts,
// as in IBM's program.

#include "comm/ddl_options.h"

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

bool read_shard(const std::string& text, DdlOptions& options) {
  if (text == "none") return options.shard = Shard::kNone, true;
  if (text == "states") return options.shard = Shard::kStates, true;
  return false;
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
    refuse("-elastic goes on without a rank that is gone, and with -shard states its part of them would be gone, too",
           "leave one of them out");
  }
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
    {"shard", "none or states", read_shard},
    {"timeout", "a time in seconds, or 0 for none", read_size<&DdlOptions::timeout_s, Zero::kAllowed>},
    {"elastic", "the fewest and the most ranks, such as 2:8", read_bounds},
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

}  // namespace

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
  check_elastic(options);
  return options;
}

}  // namespace robusta
