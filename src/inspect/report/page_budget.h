/// How the bytes of a report are shared out: each kind of content has a share of its own, and none takes another's.
#pragma once

#include <cstddef>
#include <string>

namespace robusta {

/// What is left of a share of the budget.
class Share {
 public:
  explicit Share(size_t bytes) : left_(bytes) {}
  bool take(size_t bytes) {
    if (bytes > left_) return full_ = true, false;
    left_ -= bytes;
    return true;
  }
  size_t left() const { return left_; }
  bool was_full() const { return full_; }

 private:
  size_t left_;
  bool full_ = false;
};

struct PageBudget {
  /// `part`: of the whole, for what is greater than it ought to be: 1, 1/2...
  explicit PageBudget(double part)
      : runs(bytes(400'000, part)),
        curves(bytes(1'200'000, part)),
        pictures(bytes(850'000, part)),
        texts(bytes(200'000, part)),
        cells(bytes(150'000, part)),
        events(bytes(150'000, part)) {}

  Share runs;      ///< what every run has: its name, where it began
  size_t curves;   ///< bytes
  Share pictures;  ///< of samples
  Share texts;     ///< settings, commands, rows of tables
  Share cells;     ///< of confusion matrices
  size_t events;   ///< bytes
  size_t runs_left_out = 0, curves_left_out = 0;
  bool events_left_out = false;

  /// What the page has to say of what it does not hold; "": it holds all.
  std::string left_out() const;

 private:
  static size_t bytes(double whole, double part) { return static_cast<size_t>(whole * part); }
};

/// JSON as it can stand in an element of HTML: without "<", which could end the element.
std::string json_for_page(const std::string& json);

/// The first bytes of what is too long.
std::string cut(const std::string& text, size_t most);

}  // namespace robusta
