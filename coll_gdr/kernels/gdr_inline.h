/* How the same source is compiled for the card and for the host. */
#ifndef GDR_INLINE_H
#define GDR_INLINE_H

#ifdef __CUDACC__
#define GDR_INLINE __device__ __forceinline__
#define GDR_UNROLL _Pragma("unroll")
#else
#define GDR_INLINE inline __attribute__((always_inline))
#define GDR_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
