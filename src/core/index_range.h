#pragma once
// A range of consecutive indices. It stands in for std::views::iota: clang 14, which builds the fuzz targets,
// cannot compile the views of GCC 12's library.
//
//   for (int i : IndexRange(2, 5)) ...   // 2, 3, 4

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace xylem {

class IndexRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using pointer = const int*;
    using reference = int;

    Iterator() = default;
    explicit Iterator(int index) : index_(index) {}
    int operator*() const { return index_; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(index_++); }
    bool operator==(const Iterator&) const = default;

   private:
    int index_ = 0;
  };

  // From `first` up to but not including `end`; empty if that is not greater.
  IndexRange(int first, int end) : first_(first), end_(std::max(first, end)) {}

  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  std::size_t size() const { return static_cast<std::size_t>(end_ - first_); }
  bool empty() const { return end_ == first_; }
  int operator[](std::size_t i) const { return first_ + static_cast<int>(i); }
  int front() const { return first_; }

 private:
  int first_, end_;
};

}  // namespace xylem
