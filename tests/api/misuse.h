// Calls of the interface with what they refuse: bad handles in the place of good ones, structs of impossible size.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "api/handmade.h"
#include "tessera/tessera.h"

namespace tessera::test {

// The call, with its handles taken from here.
struct Handles {
  tessera_context* context;
  tessera_model* model;
  tessera_job* job;
};

template <class T>
T* as(const void* p) {
  return static_cast<T*>(const_cast<void*>(p));
}

class Misuse : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tessera_context_new(nullptr, &good_.context), TESSERA_OK);
    tessera_fit_options o{};
    o.struct_size = sizeof o, o.settings = "epochs=0";
    rows();
    ASSERT_EQ(tessera_fit(good_.context, &o, &stream_, &good_.model), TESSERA_OK) << tessera_last_error();
    rows();
    ASSERT_EQ(tessera_fit_start(good_.context, &o, &stream_, &good_.job), TESSERA_OK);
    ASSERT_EQ(tessera_job_wait(good_.job, -1, nullptr), TESSERA_OK);
  }
  void TearDown() override {
    tessera_job_free(good_.job);
    tessera_model_free(good_.model);
    tessera_context_free(good_.context);
    for (ArrowArrayStream* s : {&stream_, &other_})
      if (s->release != nullptr) s->release(s);
  }

  // A fresh stream to be consumed.
  ArrowArrayStream* rows() { return open(stream_); }
  ArrowArrayStream* open(ArrowArrayStream& stream) {
    if (stream.release != nullptr) stream.release(&stream);
    source_.push_back(std::make_unique<SmallStream>(40));
    source_.back()->open(&stream);
    return &stream;
  }

  void usage(const char* function, const char* what, tessera_status status) {
    EXPECT_EQ(status, TESSERA_E_USAGE) << function << " with " << what << ": " << tessera_last_error();
    EXPECT_STRNE(tessera_last_error(), "") << function;
  }

  // What a call is given: a fresh stream for each, a pointer to an option struct, or the value itself.
  enum class Fresh { rows, others };
  template <class O>
  struct Grown {
    O known{};
    char unknown[24] = {};
  };
  template <class T>
  auto argument(T&& value) {
    if constexpr (std::is_same_v<std::decay_t<T>, Fresh>) return open(value == Fresh::rows ? stream_ : other_);
    else if constexpr (requires { value.unknown; }) return &value.known;
    else if constexpr (requires { value.struct_size; }) return &value;
    else return value;
  }

  // The same call with every bad value in the place of one handle.
  template <class Handle>
  void bad_handles(const char* function, const std::function<tessera_status(Handle*)>& call) {
    usage(function, "NULL", call(nullptr));
    for (const void* other : std::initializer_list<const void*>{good_.context, good_.model, good_.job})
      if (other !=
          as<const void>(std::get<std::remove_const_t<Handle>*>(std::tuple(good_.context, good_.model, good_.job))))
        usage(function, "a handle of another kind", call(as<Handle>(other)));
    static char anything[256];
    usage(function, "no handle", call(as<Handle>(anything)));
    usage(function, "an address of nothing", call(as<Handle>(reinterpret_cast<const void*>(uintptr_t{0x10}))));
    usage(function, "a freed handle", call(as<Handle>(freed_)));
  }
  // In the place of its first argument, or of the second one, after a context.
  template <class Handle, class... Parameters, class... Arguments>
  void bad_first(const char* function, tessera_status (*call)(Handle*, Parameters...), Arguments... arguments) {
    bad_handles<Handle>(function, [&](Handle* h) { return call(h, argument(arguments)...); });
  }
  template <class Handle, class... Parameters, class... Arguments>
  void bad_second(const char* function, tessera_status (*call)(const tessera_context*, Handle*, Parameters...),
                  Arguments... arguments) {
    bad_handles<Handle>(function, [&](Handle* h) { return call(good_.context, h, argument(arguments)...); });
  }

  // The same call with a struct among its arguments that has every impossible size, or a field that is not known.
  template <class Call, class... Arguments>
  void bad_sizes(const char* function, Call call, Arguments... arguments) {
    const auto set = [](auto& a, size_t size) {
      if constexpr (requires { a.struct_size; }) a.struct_size = size;
    };
    for (const size_t size : {size_t{0}, size_t{1}, size_t{7}, size_t{1} << 17, SIZE_MAX}) {
      (set(arguments, size), ...);
      usage(function, "a struct of impossible size", call(argument(arguments)...));
    }
    const auto grown = []<class T>(const T& a) {
      if constexpr (requires { a.struct_size; }) {
        Grown<T> newer{a};
        newer.known.struct_size = sizeof newer, newer.unknown[20] = 1;
        return newer;
      } else {
        return a;
      }
    };
    usage(function, "a field that is not known", call(argument(grown(arguments))...));
  }

  void free_one() {
    tessera_context* gone = nullptr;
    ASSERT_EQ(tessera_context_new(nullptr, &gone), TESSERA_OK);
    tessera_context_free(gone);
    freed_ = gone;
  }

  Handles good_{};
  const void* freed_ = nullptr;
  ArrowArrayStream stream_{}, other_{};
  std::vector<std::unique_ptr<SmallStream>> source_;
  char* text_ = nullptr;
};

}  // namespace tessera::test
