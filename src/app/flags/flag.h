/// One flag of a program: name, default, help and who has to agree on it, all said where the member is declared.
///
/// A flag is a member of a struct that derives from FlagSet (flag_set.h), which finds it by itself:
///
///     struct Options : FlagSet {
///       Flag<int32_t> iterations{this, "iterations", 50, "batches to run (test, time)"};
///     };
///
/// It is written to while the command line is read, before the program does anything else; everybody else has the
/// struct as const, and any thread may read it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace robusta {

class FlagSet;

/// What a flag is to the ranks of a job, and whether it does anything here.
struct FlagUse {
  enum class Kind {
    kJob,       ///< all ranks have to be given it alike
    kRank,      ///< concerns a rank alone, or is compared or shared otherwise
    kNoEffect,  ///< known from another Caffe, and means nothing here
  };
  Kind kind = Kind::kJob;
  const char* bare = nullptr;  ///< the value of the flag by itself, when the next word is neither this nor a number
};

inline constexpr FlagUse kOfRank{FlagUse::Kind::kRank};
inline constexpr FlagUse kNoEffect{FlagUse::Kind::kNoEffect};
constexpr FlagUse or_bare(const char* value) { return {FlagUse::Kind::kJob, value}; }

/// What FlagSet knows of a flag of any type.
class FlagBase {
 public:
  FlagBase(const FlagBase&) = delete;
  FlagBase& operator=(const FlagBase&) = delete;

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const std::string& standard() const { return standard_; }  ///< the default, as text
  const FlagUse& use() const { return use_; }
  bool given() const { return text() != standard_; }
  virtual std::string type() const = 0;
  virtual std::string text() const = 0;
  bool is_switch() const { return type() == "bool"; }
  /// False, and nothing changed, where the text is no such value.
  virtual bool read(const std::string& text) = 0;

 protected:
  FlagBase(FlagSet* set, std::string name, std::string standard, std::string help, FlagUse use);
  ~FlagBase() = default;

 private:
  std::string name_, standard_, help_;
  FlagUse use_;
};

/// Text to value and back, for each type a flag may have; the forms are those of gflags, which Caffe reads flags with.
bool parse_flag(const std::string& text, std::string& value);
bool parse_flag(const std::string& text, bool& value);
bool parse_flag(const std::string& text, int32_t& value);
bool parse_flag(const std::string& text, uint32_t& value);
bool parse_flag(const std::string& text, uint64_t& value);
bool parse_flag(const std::string& text, double& value);
std::string flag_text(const std::string& value);
std::string flag_text(bool value);
std::string flag_text(int32_t value);
std::string flag_text(uint32_t value);
std::string flag_text(uint64_t value);
std::string flag_text(double value);
inline std::string flag_type(const std::string&) { return "string"; }
inline std::string flag_type(bool) { return "bool"; }
inline std::string flag_type(int32_t) { return "int32"; }
inline std::string flag_type(uint32_t) { return "uint32"; }
inline std::string flag_type(uint64_t) { return "uint64"; }
inline std::string flag_type(double) { return "double"; }

template <typename T>
class Flag final : public FlagBase {
 public:
  Flag(FlagSet* set, const char* name, T standard, const char* help, FlagUse use = {})
      : FlagBase(set, name, flag_text(standard), help, use), value_(std::move(standard)) {}

  const T& operator()() const { return value_; }
  std::string type() const override { return flag_type(value_); }
  std::string text() const override { return flag_text(value_); }
  bool read(const std::string& text) override { return parse_flag(text, value_); }

 private:
  T value_;
};

}  // namespace robusta
