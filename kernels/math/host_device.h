// The attributes of a function that is also called by kernels.
#pragma once

#if defined(__CUDACC__)
#define TESSERA_HD __host__ __device__
#else
#define TESSERA_HD
#endif
