/// Numbers that name things of one kind, and vectors that only these numbers index.
///
/// An Id<Tag> is an int that neither mixes with ids of another tag nor converts to or from integers by itself; it costs
/// what the int costs. Ids count from 0, and a default one is none.
#pragma once

#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <ostream>
#include <utility>
#include <vector>

namespace robusta {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  static constexpr Id none() { return Id(); }
  template <std::integral N>
  constexpr explicit Id(N number) : number_(static_cast<int>(number)) {}

  /// Whether it names anything.
  constexpr explicit operator bool() const { return number_ >= 0; }
  constexpr int number() const { return number_; }
  /// REQUIRES: it names something.
  constexpr size_t index() const { return static_cast<size_t>(number_); }

  friend constexpr bool operator==(Id, Id) = default;
  /// Of ids that are positions in an order, steps above all. None comes before all others.
  friend constexpr auto operator<=>(Id, Id) = default;
  constexpr Id& operator++() { return ++number_, *this; }
  constexpr Id& operator--() { return --number_, *this; }
  friend constexpr Id operator+(Id id, int by) { return Id(id.number_ + by); }
  friend constexpr Id operator-(Id id, int by) { return Id(id.number_ - by); }
  friend constexpr int operator-(Id a, Id b) { return a.number_ - b.number_; }
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.number_; }

 private:
  int number_ = -1;
};

/// The ids from `first` to the one before `end`, for loops.
template <class I>
class IdRange {
 public:
  struct Iterator {
    I id;
    int by;
    I operator*() const { return id; }
    Iterator& operator++() { return id = id + by, *this; }
    bool operator!=(const Iterator& other) const { return id != other.id; }
  };
  constexpr IdRange(I first, I end) : first_(first), end_(end) {}
  Iterator begin() const { return {first_, by_}; }
  Iterator end() const { return {end_, by_}; }
  IdRange reversed() const {
    IdRange range(end_ - by_, first_ - by_);
    range.by_ = -by_;
    return range;
  }

 private:
  I first_, end_;
  int by_ = 1;
};

template <class I, class T>
class IdVector {
  using Items = std::vector<T>;

 public:
  IdVector() = default;
  IdVector(std::initializer_list<T> items) : items_(items) {}
  explicit IdVector(size_t size) : items_(size) {}
  IdVector(size_t size, const T& item) : items_(size, item) {}

  typename Items::reference operator[](I id) {
    assert(contains(id));
    return items_[id.index()];
  }
  typename Items::const_reference operator[](I id) const {
    assert(contains(id));
    return items_[id.index()];
  }
  bool contains(I id) const { return id && id.index() < items_.size(); }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  /// That of the next item to be added; behind the last.
  I end_id() const { return I(items_.size()); }
  IdRange<I> ids() const { return {I(0), end_id()}; }

  /// Returns the new item's id.
  I push_back(T item) {
    items_.push_back(std::move(item));
    return end_id() - 1;
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    return items_.emplace_back(std::forward<Args>(args)...);
  }
  void assign(size_t size, const T& item) { items_.assign(size, item); }
  void resize(size_t size) { items_.resize(size); }
  void clear() { items_.clear(); }

  void pop_back() { items_.pop_back(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  Items items_;
};

}  // namespace robusta
