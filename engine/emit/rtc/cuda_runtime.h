// What the dialect's host functions call, which no kernel does; NVRTC has the types.
#pragma once
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int);
template <class... A>
cudaError_t cudaLaunchKernelEx(const A&...);
