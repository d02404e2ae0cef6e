// What the dialect's host functions call, which no kernel does; NVRTC has the types.
#pragma once
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
template <class... A>
cudaError_t cudaLaunchKernelEx(const A&...);
