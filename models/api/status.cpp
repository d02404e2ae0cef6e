#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>

#include "models/api/guard.h"

namespace tessera::api {
namespace {

// A message never takes memory when memory is what is short, and dies with its thread.
struct LastError {
  std::string text;
  const char* fixed = "";
};
thread_local LastError last_error;

void keep(const char* text) noexcept {
  try {
    last_error.text = text;
    last_error.fixed = nullptr;
  } catch (...) {
    last_error.fixed = "There was no memory left for an error message.";
  }
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

tessera_status keep_error() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    keep(e.what());
    return status_of(e.code());
  } catch (const std::bad_alloc&) {
    last_error.fixed = "There is not enough memory for this. Use fewer rows or columns, or a machine with more of it.";
    return TESSERA_E_MEMORY;
  } catch (const std::exception& e) {
    keep((std::string("Something in Tessera broke (") + e.what() + "). Please report it with what you did.").c_str());
  } catch (...) {
    last_error.fixed = "Something in Tessera broke. Please report it with what you did.";
  }
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

const char* tessera_last_error(void) { return last_error.fixed != nullptr ? last_error.fixed : last_error.text.c_str(); }

void tessera_string_free(char* text) { std::free(text); }
