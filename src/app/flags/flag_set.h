/// The flags of a program, read from its command line as Caffe's are: -name value, -name=value, --name..., switches as
/// -name and -noname, and files of flags by -flagfile.
///
/// Reading argv is ours, because gflags cannot take both `-lms` and `-lms 8000`, leaves the process by itself on an
/// unknown flag, knows no nearest name, and keeps its values in globals of the process.
#pragma once

#include <string>
#include <vector>

#include "app/flags/flag.h"

namespace robusta {

struct CommandLine {
  std::vector<std::string> words;  ///< what is no flag, in order
  bool help = false, version = false;
};

/// Flags that are not ours: those of the library that writes the log.
struct ForeignFlags {
  std::string (*type_of)(const std::string& name);                 ///< "bool", "int32"...; "": there is none
  bool (*set)(const std::string& name, const std::string& value);  ///< false: it cannot have that value
};

class FlagSet {
 public:
  FlagSet() = default;
  FlagSet(const FlagSet&) = delete;
  FlagSet& operator=(const FlagSet&) = delete;

  /// Throws Error{kUsage} for an unknown flag (with the nearest one), a missing and an unreadable value.
  CommandLine read(int argc, char** argv, const ForeignFlags* foreign = nullptr);

  /// All flags by name.
  std::vector<const FlagBase*> flags() const { return {flags_.begin(), flags_.end()}; }
  /// Null where there is none of this name.
  FlagBase* find(const std::string& name);
  /// Names, types, meanings and defaults, one line each, without those that are not built in.
  std::string describe() const;

 protected:
  ~FlagSet() = default;

 private:
  friend class FlagBase;
  void add(FlagBase& flag);

  std::vector<FlagBase*> flags_;
};

}  // namespace robusta
