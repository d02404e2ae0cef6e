// The twin of the CUDA runtime functions that the backend uses.
#pragma once
#include <cstddef>
#include <functional>

namespace tessera::emulation {
struct Stream;
// Puts work on a stream.
void enqueue(Stream* stream, const char* name, std::function<void()> work);
}  // namespace tessera::emulation

enum cudaError_t { cudaSuccess = 0 };
using cudaStream_t = tessera::emulation::Stream*;
