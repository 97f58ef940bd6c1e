/*
 * NVTX's ranges, marks and domains as objects of C++11, which do nothing: nvToolsExt.h says why.
 *
 *   nvtx3::scoped_range range{"all-reduce", nvtx3::rgb{0, 127, 255}, nvtx3::payload{bytes}};
 *
 *   void step() { NVTX3_FUNC_RANGE(); ... }
 *
 * Stays empty if NVIDIA's own header was included before, and stands for it afterwards.
 */
#ifndef NVTX3_CPP_DEFINITIONS_V1_0
#define NVTX3_CPP_DEFINITIONS_V1_0
#define NVTX3_CPP_VERSION_MAJOR 1
#define NVTX3_CPP_VERSION_MINOR 0

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "nvToolsExt.h"

namespace nvtx3 {
inline namespace v1 {

class domain {
 public:
  struct global {};
  template <typename D = global>
  static domain const& get() noexcept {
    static domain const only{};
    return only;
  }
  domain(domain const&) = delete;
  domain& operator=(domain const&) = delete;
  operator nvtxDomainHandle_t() const noexcept { return nullptr; }

 private:
  domain() noexcept {}
};

struct rgb {
  using component_type = std::uint8_t;
  constexpr rgb(component_type r, component_type g, component_type b) noexcept : red(r), green(g), blue(b) {}
  component_type red, green, blue;
};
struct argb final : rgb {
  constexpr argb(component_type a, component_type r, component_type g, component_type b) noexcept
      : rgb(r, g, b), alpha(a) {}
  component_type alpha;
};
class color {
 public:
  using value_type = std::uint32_t;
  constexpr explicit color(value_type code) noexcept : value_(code) {}
  constexpr color(argb parts) noexcept : value_(joined(parts.alpha, parts)) {}
  constexpr color(rgb parts) noexcept : value_(joined(255, parts)) {}
  constexpr value_type get_value() const noexcept { return value_; }
  constexpr nvtxColorType_t get_type() const noexcept { return NVTX_COLOR_ARGB; }

 private:
  static constexpr value_type joined(value_type alpha, rgb parts) {
    return alpha << 24 | value_type{parts.red} << 16 | value_type{parts.green} << 8 | value_type{parts.blue};
  }
  value_type value_;
};

class category {
 public:
  using id_type = std::uint32_t;
  constexpr explicit category(id_type id) noexcept : id_(id) {}
  constexpr id_type get_id() const noexcept { return id_; }

 private:
  id_type id_;
};
template <typename D = domain::global>
class named_category_in final : public category {
 public:
  template <typename C>
  static named_category_in const& get() noexcept {
    static named_category_in const only(C::id, C::name);
    return only;
  }
  named_category_in(id_type id, char const*) noexcept : category(id) {}
  named_category_in(id_type id, wchar_t const*) noexcept : category(id) {}
};
using named_category = named_category_in<domain::global>;

template <typename D = domain::global>
class registered_string_in {
 public:
  template <typename M>
  static registered_string_in const& get() noexcept {
    static registered_string_in const only(M::message);
    return only;
  }
  explicit registered_string_in(char const*) noexcept {}
  explicit registered_string_in(std::string const&) noexcept {}
  explicit registered_string_in(wchar_t const*) noexcept {}
  explicit registered_string_in(std::wstring const&) noexcept {}
  nvtxStringHandle_t get_handle() const noexcept { return nullptr; }
};
using registered_string = registered_string_in<domain::global>;

class message {
 public:
  using value_type = nvtxMessageValue_t;
  message(char const* text) noexcept : type_(NVTX_MESSAGE_TYPE_ASCII) { value_.ascii = text; }
  message(std::string const& text) noexcept : message(text.c_str()) {}
  message(std::string&&) = delete; /* it would be gone before it is read */
  message(wchar_t const* text) noexcept : type_(NVTX_MESSAGE_TYPE_UNICODE) { value_.unicode = text; }
  message(std::wstring const& text) noexcept : message(text.c_str()) {}
  message(std::wstring&&) = delete;
  template <typename D>
  message(registered_string_in<D> const& text) noexcept : type_(NVTX_MESSAGE_TYPE_REGISTERED) {
    value_.registered = text.get_handle();
  }
  message(nvtxMessageType_t type, nvtxMessageValue_t const& value) noexcept : type_(type), value_(value) {}
  value_type get_value() const noexcept { return value_; }
  nvtxMessageType_t get_type() const noexcept { return type_; }

 private:
  nvtxMessageType_t type_;
  value_type value_;
};

class payload {
 public:
  using value_type = decltype(nvtxEventAttributes_t::payload);
  explicit payload(std::int64_t value) noexcept : type_(NVTX_PAYLOAD_TYPE_INT64) { value_.llValue = value; }
  explicit payload(std::int32_t value) noexcept : type_(NVTX_PAYLOAD_TYPE_INT32) { value_.iValue = value; }
  explicit payload(std::uint64_t value) noexcept : type_(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) {
    value_.ullValue = value;
  }
  explicit payload(std::uint32_t value) noexcept : type_(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32) {
    value_.uiValue = value;
  }
  explicit payload(float value) noexcept : type_(NVTX_PAYLOAD_TYPE_FLOAT) { value_.fValue = value; }
  explicit payload(double value) noexcept : type_(NVTX_PAYLOAD_TYPE_DOUBLE) { value_.dValue = value; }
  value_type get_value() const noexcept { return value_; }
  nvtxPayloadType_t get_type() const noexcept { return type_; }

 private:
  nvtxPayloadType_t type_;
  value_type value_;
};

/* Any of color, category, payload and message, in any order; of two of a kind the first one counts. */
class event_attributes {
 public:
  using value_type = nvtxEventAttributes_t;
  event_attributes() noexcept : attributes_() {
    attributes_.version = NVTX_VERSION;
    attributes_.size = sizeof(value_type);
  }
  template <typename... Args>
  explicit event_attributes(color const& first, Args const&... rest) noexcept : event_attributes(rest...) {
    attributes_.color = first.get_value();
    attributes_.colorType = first.get_type();
  }
  template <typename... Args>
  explicit event_attributes(category const& first, Args const&... rest) noexcept : event_attributes(rest...) {
    attributes_.category = first.get_id();
  }
  template <typename... Args>
  explicit event_attributes(payload const& first, Args const&... rest) noexcept : event_attributes(rest...) {
    attributes_.payload = first.get_value();
    attributes_.payloadType = first.get_type();
  }
  template <typename... Args>
  explicit event_attributes(message const& first, Args const&... rest) noexcept : event_attributes(rest...) {
    attributes_.message = first.get_value();
    attributes_.messageType = first.get_type();
  }
  value_type const* get() const noexcept { return &attributes_; }

 private:
  value_type attributes_;
};

/* From its construction to its end. */
template <typename D = domain::global>
class scoped_range_in {
 public:
  explicit scoped_range_in(event_attributes const&) noexcept {}
  template <typename... Args>
  explicit scoped_range_in(Args const&... args) noexcept : scoped_range_in(event_attributes{args...}) {}
  scoped_range_in() noexcept {}
  ~scoped_range_in() noexcept {}
  scoped_range_in(scoped_range_in const&) = delete;
  scoped_range_in& operator=(scoped_range_in const&) = delete;
  void* operator new(std::size_t) = delete;
};
using scoped_range = scoped_range_in<domain::global>;

template <typename D = domain::global>
class optional_scoped_range_in {
 public:
  optional_scoped_range_in() = default;
  void begin(event_attributes const&) noexcept {}
  ~optional_scoped_range_in() noexcept {}
  optional_scoped_range_in(optional_scoped_range_in const&) = delete;
  optional_scoped_range_in& operator=(optional_scoped_range_in const&) = delete;
  void* operator new(std::size_t) = delete;
};
using optional_scoped_range = optional_scoped_range_in<domain::global>;

struct range_handle {
  using value_type = nvtxRangeId_t;
  constexpr explicit range_handle(value_type id) noexcept : id_(id) {}
  constexpr range_handle() noexcept = default;
  constexpr range_handle(std::nullptr_t) noexcept {}
  constexpr explicit operator bool() const noexcept { return id_ != 0; }
  constexpr value_type get_value() const noexcept { return id_; }
  friend bool operator==(range_handle a, range_handle b) noexcept { return a.id_ == b.id_; }
  friend bool operator!=(range_handle a, range_handle b) noexcept { return a.id_ != b.id_; }

 private:
  value_type id_ = 0;
};

template <typename D = domain::global>
inline range_handle start_range_in(event_attributes const&) noexcept {
  return range_handle{};
}
template <typename D = domain::global, typename... Args>
inline range_handle start_range_in(Args const&... args) noexcept {
  return start_range_in<D>(event_attributes{args...});
}
template <typename... Args>
inline range_handle start_range(Args const&... args) noexcept {
  return start_range_in<domain::global>(event_attributes{args...});
}
template <typename D = domain::global>
inline void end_range_in(range_handle) noexcept {}
inline void end_range(range_handle) noexcept {}

/* As scoped_range_in, but it may move. */
template <typename D = domain::global>
class unique_range_in {
 public:
  explicit unique_range_in(event_attributes const&) noexcept {}
  template <typename... Args>
  explicit unique_range_in(Args const&... args) noexcept : unique_range_in(event_attributes{args...}) {}
  unique_range_in() noexcept {}
  ~unique_range_in() noexcept {}
  unique_range_in(unique_range_in&&) noexcept {}
  unique_range_in& operator=(unique_range_in&&) noexcept { return *this; }
  unique_range_in(unique_range_in const&) = delete;
  unique_range_in& operator=(unique_range_in const&) = delete;
};
using unique_range = unique_range_in<domain::global>;

template <typename D = domain::global>
inline void mark_in(event_attributes const&) noexcept {}
template <typename D = domain::global, typename... Args>
inline void mark_in(Args const&... args) noexcept {
  mark_in<D>(event_attributes{args...});
}
template <typename... Args>
inline void mark(Args const&... args) noexcept {
  mark_in<domain::global>(event_attributes{args...});
}

}  // namespace v1
}  // namespace nvtx3

#define NVTX3_FUNC_RANGE_IN(D) \
  ::nvtx3::v1::scoped_range_in<D> const nvtx3_range__ { __func__ }
#define NVTX3_FUNC_RANGE_IF_IN(D, C)                      \
  ::nvtx3::v1::optional_scoped_range_in<D> nvtx3_range__; \
  if (C) nvtx3_range__.begin(::nvtx3::v1::event_attributes{__func__})
#define NVTX3_FUNC_RANGE() NVTX3_FUNC_RANGE_IN(::nvtx3::v1::domain::global)
#define NVTX3_FUNC_RANGE_IF(C) NVTX3_FUNC_RANGE_IF_IN(::nvtx3::v1::domain::global, C)
#define NVTX3_V1_FUNC_RANGE NVTX3_FUNC_RANGE
#define NVTX3_V1_FUNC_RANGE_IF NVTX3_FUNC_RANGE_IF
#define NVTX3_V1_FUNC_RANGE_IN NVTX3_FUNC_RANGE_IN
#define NVTX3_V1_FUNC_RANGE_IF_IN NVTX3_FUNC_RANGE_IF_IN

#endif /* NVTX3_CPP_DEFINITIONS_V1_0 */
