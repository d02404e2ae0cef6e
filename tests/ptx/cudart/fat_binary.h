// The images that nvcc puts into an object.
#pragma once
#include <string>

namespace tessera::ptx {

// The text of the newest PTX that a GPU of this architecture (90 of 9.0) can be given; empty: there is none. Throws
// std::runtime_error where it cannot be unpacked.
std::string ptx_of(const void* wrapper, int architecture);

}  // namespace tessera::ptx
