/* How the same source is compiled for the card and for the host. */
#ifndef GDR_INLINE_H
#define GDR_INLINE_H

#ifdef __CUDACC__
#define GDR_INLINE __device__ __forceinline__
#define GDR_UNROLL _Pragma("unroll")
#elif defined(GDR_TWIN_COMPACT) /* sanitizers: instrumented, the rest would compile for minutes */
#define GDR_INLINE inline
#define GDR_UNROLL
#else
#define GDR_INLINE inline __attribute__((always_inline))
#define GDR_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
