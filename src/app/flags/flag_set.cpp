// The command line, word by word: each flag takes its value from its own word or from the next one.

#include "app/flags/flag_set.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/input_text.h"
#include "base/nearest.h"
#include "base/str.h"
#include "robusta/error.h"

namespace robusta {
namespace {

std::string text_of(const std::string& path) {
  try {
    return read_input_text(path, ErrorKind::kUsage);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, str("cannot read -flagfile ", path, ": ", error.cause()),
                "give a file with one -name=value per line");
  }
}

bool is_integer(const std::string& text) {
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return text.size() > sign && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(sign), text.end(),
                                           [](unsigned char c) { return std::isdigit(c); });
}

/// "-name", "--name" or one of these with "=value".
struct FlagWord {
  explicit FlagWord(const std::string& word) {
    const size_t begin = word.starts_with("--") ? 2 : 1, equal = word.find('=');
    name = word.substr(begin, equal == std::string::npos ? equal : equal - begin);
    has_value = equal != std::string::npos;
    if (has_value) value = word.substr(equal + 1);
  }
  std::string name, value;
  bool has_value = false;
};

/// A flag of ours or a foreign one.
struct Target {
  FlagBase* own = nullptr;
  std::string name, type;
  bool exists() const { return !type.empty(); }
  bool is_switch() const { return type == "bool"; }
};

class Reader {
 public:
  Reader(FlagSet& flags, const ForeignFlags* foreign, std::string program)
      : flags_(flags), foreign_(foreign), program_(std::move(program)) {}

  CommandLine read(const std::vector<std::string>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      const std::string& arg = args[i];
      if (arg == "--") {
        line_.words.insert(line_.words.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
        break;
      }
      if (arg.size() < 2 || arg[0] != '-') {
        line_.words.push_back(arg);
      } else if (read_flag(FlagWord(arg), i + 1 < args.size() ? &args[i + 1] : nullptr)) {
        ++i;
      }
    }
    return std::move(line_);
  }

 private:
  /// `next`: the word after it, or null. Returns whether that word was its value.
  bool read_flag(const FlagWord& word, const std::string* next) {
    const Target target = find(word.name);
    if (!target.exists()) return read_unknown(word, next);
    if (word.has_value) return set(target, word.value);
    if (const char* bare = value_by_itself(target, next)) return set(target, bare);
    set(target, required(word.name, next));
    return true;
  }

  /// What every program takes, and -noNAME.
  bool read_unknown(const FlagWord& word, const std::string* next) {
    const std::string& name = word.name;
    if (name == "help" || name == "h" || name == "helpshort" || name == "helpfull") return !(line_.help = true);
    if (name == "version") return !(line_.version = true);
    if (name == "flagfile") {
      read_file(word.has_value ? word.value : required(name, next));
      return !word.has_value;
    }
    const Target negated = name.starts_with("no") ? find(name.substr(2)) : Target{};
    if (!negated.is_switch() || word.has_value) refuse(name);
    return set(negated, "false");
  }

  /// One flag with its value per line; # begins a comment.
  void read_file(const std::string& path) {
    constexpr int kDeepest = 16;
    if (files_ == kDeepest) {
      throw Error(ErrorKind::kUsage, str("-flagfile ", path, " lies ", kDeepest, " files deep: does one name itself?"),
                  "name other files in fewer levels");
    }
    ++files_;
    std::istringstream file(text_of(path));
    for (std::string text; std::getline(file, text);) {
      const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
      if (begin == std::string::npos || text[begin] == '#') continue;
      const std::string word = text.substr(begin, end - begin + 1);
      if (word.size() < 2 || word[0] != '-') {
        throw Error(ErrorKind::kUsage, path + ": \"" + word + "\" is no flag", "write one -name=value per line");
      }
      read_flag(FlagWord(word), nullptr);
    }
    --files_;
  }

  Target find(const std::string& name) const {
    if (FlagBase* own = flags_.find(name)) return {own, name, own->type()};
    return {nullptr, name, foreign_ ? foreign_->type_of(name) : ""};
  }

  /// Of a switch, or of a flag whose value may be left out and is not the next word.
  static const char* value_by_itself(const Target& target, const std::string* next) {
    if (target.is_switch()) return "true";
    const char* bare = target.own ? target.own->use().bare : nullptr;
    const bool given = bare && next && (is_integer(*next) || *next == bare);
    return given ? nullptr : bare;
  }

  static const std::string& required(const std::string& name, const std::string* next) {
    if (next) return *next;
    throw Error(ErrorKind::kUsage, "-" + name + " needs a value", "give it as -" + name + " VALUE");
  }

  /// False: the next word is not its value.
  bool set(const Target& target, const std::string& value) {
    const bool taken = target.own ? target.own->read(value) : foreign_->set(target.name, value);
    if (taken) return false;
    throw Error(ErrorKind::kUsage, "-" + target.name + " cannot be \"" + value + "\"",
                "give a value of type " + target.type);
  }

  [[noreturn]] void refuse(const std::string& name) const {
    std::vector<std::string> names;
    for (const FlagBase* flag : flags_.flags()) names.push_back(flag->name());
    const std::string near = nearest(name, names);
    throw Error(ErrorKind::kUsage, "unknown flag -" + name + (near.empty() ? "" : " (did you mean -" + near + "?)"),
                program_ + " --help lists all flags");
  }

  FlagSet& flags_;
  const ForeignFlags* foreign_;
  std::string program_;
  CommandLine line_;
  int files_ = 0;  ///< flag files that are being read, each named by the one before
};

}  // namespace

FlagBase::FlagBase(FlagSet* set, std::string name, std::string standard, std::string help, FlagUse use)
    : name_(std::move(name)), standard_(std::move(standard)), help_(std::move(help)), use_(use) {
  set->add(*this);
}

void FlagSet::add(FlagBase& flag) {
  const auto before = [](const FlagBase* a, const FlagBase* b) { return a->name() < b->name(); };
  flags_.insert(std::upper_bound(flags_.begin(), flags_.end(), &flag, before), &flag);
}

FlagBase* FlagSet::find(const std::string& name) {
  const auto found = std::find_if(flags_.begin(), flags_.end(), [&](const FlagBase* f) { return f->name() == name; });
  return found == flags_.end() ? nullptr : *found;
}

CommandLine FlagSet::read(int argc, char** argv, const ForeignFlags* foreign) {
  const std::string path = argv[0], program = path.substr(path.rfind('/') + 1);
  return Reader(*this, foreign, program).read(std::vector<std::string>(argv + 1, argv + argc));
}

std::string FlagSet::describe() const {
  std::ostringstream text;
  for (const FlagBase* flag : flags_) {
    text << "  -" << flag->name();
    if (!flag->is_switch()) text << " (" << flag->type() << ")";
    text << "  " << flag->help();
    if (!flag->standard().empty()) text << " [" << flag->standard() << "]";
    text << '\n';
  }
  return text.str();
}

}  // namespace robusta
