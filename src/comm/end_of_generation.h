/// Thrown where a rank waits for others whose generation has ended: somebody is gone, or somebody wants in (-elastic).
///
/// No error: whoever drives the ranks catches it, keeps what it has computed, and meets the others anew. So it is none
/// of robusta::Error, which ends jobs.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace robusta {

class EndOfGeneration : public std::exception {
 public:
  enum class Kind {
    kFault,    ///< a rank is gone: nothing can be sent any more
    kInOrder,  ///< all ranks have agreed in one iteration, and can still talk
  };
  EndOfGeneration(Kind kind, std::string why) : kind_(kind), why_(std::move(why)) {}
  Kind kind() const { return kind_; }
  const char* what() const noexcept override { return why_.c_str(); }

 private:
  Kind kind_;
  std::string why_;
};

}  // namespace robusta
