// Converts exceptions to statuses: every function of the C interface runs its body in guarded().
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "tessera/tessera.h"

namespace tessera::api {

ErrorCode code_of_status(tessera_status status);

// Turns the exception in flight into a status, and keeps its message for this thread. Called from a catch block.
tessera_status keep_error() noexcept;

template <class Body>
tessera_status guarded(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return TESSERA_OK;
  } catch (...) { return keep_error(); }
}

// A required pointer. Throws Error(usage) with its name in the header.
template <class T>
T& required(T* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorCode::usage, std::string("The argument ") + name + " must not be NULL.");
  return *pointer;
}

// The options in this library's layout: NULL and missing tails are zeros; fields of a newer header must be zeros.
template <class Options>
Options read_options(const Options* given) {
  Options options{};
  options.struct_size = sizeof options;
  if (given == nullptr) return options;
  size_t size;
  std::memcpy(&size, given, sizeof size);  // every struct begins with its size
  const char* bytes = reinterpret_cast<const char*>(given);
  if (size < sizeof size || size > (size_t{1} << 16))
    throw Error(ErrorCode::usage, "An options struct has no plausible struct_size; set it to sizeof of the struct.");
  if (size > sizeof options && std::any_of(bytes + sizeof options, bytes + size, [](char b) { return b != 0; }))
    throw Error(ErrorCode::usage, std::string("An options struct sets a field that release ") + tessera_version() +
                                      " does not know. Use a newer library, or leave the field 0.");
  std::memcpy(&options, given, std::min(size, sizeof options));
  options.struct_size = sizeof options;
  return options;
}

inline std::string text_or(const char* text, const char* otherwise) { return text == nullptr ? otherwise : text; }

// NULL: no condition. Error(usage) for one of blanks alone, which would be none silently.
inline std::string condition_or_none(const char* where) {
  std::string text = text_or(where, "");
  if (where != nullptr && text.find_first_not_of(" \t\n") == text.npos)
    throw Error(ErrorCode::usage, "`where`: the condition is empty.\n  Omit it to have no condition.");
  return text;
}

// A copy that tessera_string_free() frees.
char* give_text(const std::string& text);
char* give_json(const nlohmann::json& json);

}  // namespace tessera::api
