#include "emulation/gpu.h"

namespace tessera {

namespace {
void fail(cudaError_t, const char* call) { throw emulation::Fault(call); }
}  // namespace
CudaFailure on_cuda_failure = fail;

namespace emulation {

void enqueue(Stream*, const char*, std::function<void()> work) { work(); }

AtomicScope::AtomicScope(const void*, size_t) {}
AtomicScope::~AtomicScope() = default;

}  // namespace emulation
}  // namespace tessera
