#pragma once
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace trainx::program {

/// A vector whose copies share memory until one of them is changed: planning copies graphs often
/// and changes them seldom. Access through a non-const reference counts as a change. Not for use
/// by several threads at once.
template <class T>
class SharedVector {
 public:
  using value_type = T;
  SharedVector() = default;
  // NOLINTBEGIN(google-explicit-constructor): written as the vector that it stands for
  SharedVector(std::vector<T> all) : all_(std::make_shared<std::vector<T>>(std::move(all))) {}
  SharedVector(std::initializer_list<T> all) : SharedVector(std::vector<T>(all)) {}
  operator const std::vector<T>&() const { return *all_; }
  // NOLINTEND(google-explicit-constructor)

  std::size_t size() const { return all_->size(); }
  bool empty() const { return all_->empty(); }
  const T* data() const { return all_->data(); }
  auto begin() const { return std::as_const(*all_).begin(); }
  auto end() const { return std::as_const(*all_).end(); }
  const T& operator[](std::size_t i) const { return (*all_)[i]; }
  const T& at(std::size_t i) const { return all_->at(i); }
  const T& front() const { return all_->front(); }
  const T& back() const { return all_->back(); }

  auto begin() { return own().begin(); }
  auto end() { return own().end(); }
  T& operator[](std::size_t i) { return own()[i]; }
  T& at(std::size_t i) { return own().at(i); }
  T& front() { return own().front(); }
  T& back() { return own().back(); }
  void push_back(T value) { own().push_back(std::move(value)); }
  template <class... A>
  T& emplace_back(A&&... arguments) {
    return own().emplace_back(std::forward<A>(arguments)...);
  }
  void pop_back() { own().pop_back(); }
  void clear() { all_ = std::make_shared<std::vector<T>>(); }
  void resize(std::size_t n) { own().resize(n); }
  template <class I>
  auto erase(I at) {
    return own().erase(at);
  }

 private:
  std::vector<T>& own() {
    if (all_.use_count() > 1) all_ = std::make_shared<std::vector<T>>(*all_);
    return *all_;
  }

  std::shared_ptr<std::vector<T>> all_ = std::make_shared<std::vector<T>>();
};

}  // namespace trainx::program
