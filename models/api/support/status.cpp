#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text/printable.h"
#include "models/api/support/guard.h"

namespace tessera::api {
namespace {

// A message never allocates, because memory may be exhausted, and needs no destructor: a library with a thread-local
// destructor could not be closed before the thread ends.
constexpr size_t kLongest = 8192;
thread_local char last_error[kLongest] = "";

// Truncated at a character boundary.
void keep(const char* text) noexcept {
  size_t n = std::strlen(text);
  if (n >= kLongest)
    for (n = kLongest - 1; (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80; --n) {}
  if (text != last_error) std::memmove(last_error, text, n);
  last_error[n] = 0;
}

void keep_printable(const char* text) noexcept {
  try {
    keep(printable_message(text).c_str());
  } catch (const std::bad_alloc&) { keep(text); }
}

tessera_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage: return TESSERA_E_USAGE;
    case ErrorCode::data: return TESSERA_E_DATA;
    case ErrorCode::io: return TESSERA_E_IO;
    case ErrorCode::memory: return TESSERA_E_MEMORY;
    case ErrorCode::numeric: return TESSERA_E_NUMERIC;
    case ErrorCode::condition: return TESSERA_E_CONDITION;
    case ErrorCode::format: return TESSERA_E_FORMAT;
    case ErrorCode::unsupported: return TESSERA_E_UNSUPPORTED;
    case ErrorCode::cancelled: return TESSERA_E_CANCELLED;
    case ErrorCode::internal: return TESSERA_E_INTERNAL;
  }
  return TESSERA_E_INTERNAL;
}

}  // namespace

ErrorCode code_of_status(tessera_status status) {
  for (const ErrorCode code : {ErrorCode::usage, ErrorCode::data, ErrorCode::io, ErrorCode::memory, ErrorCode::numeric,
                               ErrorCode::condition, ErrorCode::format, ErrorCode::unsupported, ErrorCode::cancelled})
    if (status_of(code) == status) return code;
  return ErrorCode::internal;
}

tessera_status keep_error() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    keep_printable(e.what());
    return status_of(e.code());
  } catch (const std::bad_alloc&) {
    keep("There is not enough memory.\n  Use fewer rows or columns, or a machine with more memory.");
    return TESSERA_E_MEMORY;
  } catch (const std::length_error&) {
    keep("The size exceeds the address space.\n  Use fewer rows or columns.");
    return TESSERA_E_MEMORY;
  } catch (const std::filesystem::filesystem_error& e) {
    keep_printable(e.what());
    return TESSERA_E_IO;
  } catch (const std::exception& e) {
    char text[512];
    std::snprintf(text, sizeof text, "Internal error (%s). Please report it with the steps that led to it.", e.what());
    keep(text);
  } catch (...) { keep("Internal error. Please report it with the steps that led to it."); }
  return TESSERA_E_INTERNAL;
}

char* give_text(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

char* give_json(const nlohmann::json& json) {
  return give_text(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace tessera::api

using namespace tessera::api;

uint32_t tessera_abi_version(void) { return TESSERA_ABI_VERSION; }

const char* tessera_version(void) { return TESSERA_VERSION; }

const char* tessera_last_error(void) { return last_error; }

const char* tessera_status_name(tessera_status status) {
  switch (status) {
    case TESSERA_OK: return "OK";
    case TESSERA_E_USAGE: return "USAGE";
    case TESSERA_E_DATA: return "DATA";
    case TESSERA_E_IO: return "IO";
    case TESSERA_E_MEMORY: return "MEMORY";
    case TESSERA_E_NUMERIC: return "NUMERIC";
    case TESSERA_E_CONDITION: return "CONDITION";
    case TESSERA_E_FORMAT: return "FORMAT";
    case TESSERA_E_UNSUPPORTED: return "UNSUPPORTED";
    case TESSERA_E_CANCELLED: return "CANCELLED";
    case TESSERA_E_INTERNAL: return "INTERNAL";
  }
  return "?";
}

void tessera_memory_free(void* memory) { std::free(memory); }

void tessera_string_free(char* text) { std::free(text); }
