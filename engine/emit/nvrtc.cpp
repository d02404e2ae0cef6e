#include "engine/emit/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/plugin/plugin.h"
#include "base/storage/fingerprint.h"
#include "engine/emit/headers.h"

namespace tessera {
namespace {

using NvrtcProgram = void*;
struct Nvrtc {
  NvrtcInfo info;
  int (*version)(int*, int*) = nullptr;
  int (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(NvrtcProgram, int, const char* const*) = nullptr;
  int (*destroy)(NvrtcProgram*) = nullptr;
  int (*log_bytes)(NvrtcProgram, size_t*) = nullptr;
  int (*log)(NvrtcProgram, char*) = nullptr;
  int (*ptx_bytes)(NvrtcProgram, size_t*) = nullptr;
  int (*ptx)(NvrtcProgram, char*) = nullptr;
  int (*code_bytes)(NvrtcProgram, size_t*) = nullptr;
  int (*code)(NvrtcProgram, char*) = nullptr;
};

Nvrtc load_nvrtc() {
  Nvrtc n;
  std::string why;
  void* library = open_library("TESSERA_NVRTC",
                               {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"},
                               RTLD_NOW | RTLD_LOCAL, why);
  if (library == nullptr) {
    n.info.reason = "there is no libnvrtc.so of CUDA 12 or 13; TESSERA_NVRTC names one";
    return n;
  }
  bool all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    all = all && function != nullptr;
  };
  find(n.version, "nvrtcVersion");
  find(n.create, "nvrtcCreateProgram");
  find(n.compile, "nvrtcCompileProgram");
  find(n.destroy, "nvrtcDestroyProgram");
  find(n.log_bytes, "nvrtcGetProgramLogSize");
  find(n.log, "nvrtcGetProgramLog");
  find(n.ptx_bytes, "nvrtcGetPTXSize");
  find(n.ptx, "nvrtcGetPTX");
  find(n.code_bytes, "nvrtcGetCUBINSize");
  find(n.code, "nvrtcGetCUBIN");
  int major = 0, minor = 0;
  if (!all || n.version(&major, &minor) != 0 || major < 12)
    n.info.reason = "libnvrtc.so is older than CUDA 12; TESSERA_NVRTC names another";
  else n.info.version = std::to_string(major) + "." + std::to_string(minor);
  return n;
}

const Nvrtc& library() {
  static const Nvrtc loaded = load_nvrtc();
  return loaded;
}

bool makes_ptx(const std::string& architecture) { return architecture.rfind("compute_", 0) == 0; }

// The same options as for the plugin: PTX fuses multiply-adds only where the source does.
std::vector<std::string> options_for(const std::string& architecture) {
  std::vector<std::string> options{"-arch=" + architecture, "-std=c++20", "-default-device", "-diag-suppress=20044"};
  if (!makes_ptx(architecture)) options.push_back("-Xptxas=-fmad=false");
  if (const char* fp32 = std::getenv("TESSERA_CUDA_FP32"); fp32 != nullptr && std::string(fp32) == "tf32x3")
    options.push_back("-DTESSERA_CUDA_FP32_TF32X3");
  return options;
}

}  // namespace

const NvrtcInfo& nvrtc() { return library().info; }

CompiledSource compile_source(const std::string& source, const std::string& architecture) {
  const Nvrtc& n = library();
  if (n.info.version.empty()) return {"", n.info.reason};
  const std::vector<EmittedHeader>& all = emitted_headers();
  std::vector<const char*> texts, names;
  for (const EmittedHeader& h : all) texts.push_back(h.text), names.push_back(h.name);
  NvrtcProgram program = nullptr;
  if (n.create(&program, source.c_str(), "launch.cu", static_cast<int>(all.size()), texts.data(), names.data()) != 0)
    return {"", "nvrtcCreateProgram failed"};
  const std::vector<std::string> given = options_for(architecture);
  std::vector<const char*> options;
  for (const std::string& o : given) options.push_back(o.c_str());
  const int error = n.compile(program, static_cast<int>(options.size()), options.data());
  CompiledSource out;
  size_t bytes = 0;
  if (n.log_bytes(program, &bytes) == 0 && bytes > 1) {
    out.log.resize(bytes);
    n.log(program, out.log.data());
    out.log.resize(bytes - 1);
  }
  const bool text = makes_ptx(architecture);
  const auto size = text ? n.ptx_bytes : n.code_bytes;
  const auto take = text ? n.ptx : n.code;
  if (error == 0 && size(program, &bytes) == 0) {
    out.image.resize(bytes);
    take(program, out.image.data());
  } else if (out.log.empty()) {
    out.log = "NVRTC failed with error " + std::to_string(error);
  }
  n.destroy(&program);
  return out;
}

std::string compilation_key(const std::string& source, const std::string& architecture) {
  static const std::string headers = [] {
    Fingerprint f;
    for (const EmittedHeader& h : emitted_headers()) f.add(std::string_view(h.name)), f.add(std::string_view(h.text));
    return f.text();
  }();
  std::string key = "NVRTC " + nvrtc().version + " headers " + headers;
  for (const std::string& o : options_for(architecture)) key += " " + o;
  return key + "\n" + source;
}

}  // namespace tessera
