/*
 * Loads and stores of a kernel: 16 bytes at once where the address allows it, else in the widest
 * pieces that it does. The host build checks what the card would trap. C++ and CUDA.
 */
#ifndef GDR_MEMORY_H
#define GDR_MEMORY_H

#include <stdint.h>
#include <string.h>

#include "kernels/gdr_inline.h"

typedef struct alignas(16) gdr_unit {
    uint64_t word[2];
} gdr_unit_t;

#ifdef __CUDA_ARCH__

/* Operands are global memory, which the compiler cannot see from an integer: it would use generic
 * accesses. Volatile keeps loads and stores in program order, as operands in place need. */
#define GDR_ACCESS(type, suffix, constraint)                                                       \
    GDR_INLINE void gdr_get_to(type *value, uint64_t address)                                      \
    {                                                                                              \
        asm volatile("ld.global." suffix " %0, [%1];" : "=" constraint(*value) : "l"(address));    \
    }                                                                                              \
    GDR_INLINE void gdr_put(uint64_t address, type value)                                          \
    {                                                                                              \
        asm volatile("st.global." suffix " [%0], %1;" : : "l"(address), constraint(value));        \
    }
GDR_ACCESS(uint16_t, "u8", "h") /* a byte: there is no 8-bit register */
GDR_ACCESS(uint32_t, "u32", "r")
GDR_ACCESS(uint64_t, "u64", "l")
#undef GDR_ACCESS

GDR_INLINE void gdr_get_to(uint8_t *value, uint64_t address)
{
    uint16_t wide;

    gdr_get_to(&wide, address);
    *value = (uint8_t)wide;
}

GDR_INLINE void gdr_put(uint64_t address, uint8_t value)
{
    gdr_put(address, (uint16_t)value);
}

template <class T> GDR_INLINE T gdr_get(uint64_t address)
{
    T value;

    gdr_get_to(&value, address);
    return value;
}

GDR_INLINE gdr_unit_t gdr_get_whole(uint64_t address)
{
    gdr_unit_t unit;

    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(unit.word[0]), "=l"(unit.word[1])
                 : "l"(address));
    return unit;
}

GDR_INLINE void gdr_put_whole(uint64_t address, gdr_unit_t unit)
{
    asm volatile("st.global.v2.u64 [%0], {%1, %2};"
                 :
                 : "l"(address), "l"(unit.word[0]), "l"(unit.word[1]));
}

/* Volatile: the word is set from another stream, also while the kernel waits to be scheduled. */
GDR_INLINE uint64_t gdr_get_volatile(uint64_t address)
{
    uint64_t value;

    asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
}

#else

extern "C" void gdr_twin_misaligned(uint64_t address, unsigned bytes)
    __attribute__((noreturn, cold));

GDR_INLINE void gdr_check(uint64_t address, unsigned bytes)
{
    if (__builtin_expect(address % bytes != 0, 0))
        gdr_twin_misaligned(address, bytes);
}

template <class T> GDR_INLINE T gdr_get(uint64_t address)
{
    T value;

    gdr_check(address, sizeof(T));
    memcpy(&value, reinterpret_cast<const void *>(address), sizeof(T));
    return value;
}

template <class T> GDR_INLINE void gdr_put(uint64_t address, T value)
{
    gdr_check(address, sizeof(T));
    memcpy(reinterpret_cast<void *>(address), &value, sizeof(T));
}

GDR_INLINE gdr_unit_t gdr_get_whole(uint64_t address)
{
    return gdr_get<gdr_unit_t>(address);
}

GDR_INLINE void gdr_put_whole(uint64_t address, gdr_unit_t unit)
{
    gdr_put(address, unit);
}

GDR_INLINE uint64_t gdr_get_volatile(uint64_t address)
{
    gdr_check(address, sizeof(uint64_t));
    return *reinterpret_cast<const volatile uint64_t *>(address);
}

#endif

/* One unit in pieces of T. */
template <class T> GDR_INLINE gdr_unit_t gdr_get_pieces(uint64_t address)
{
    T piece[sizeof(gdr_unit_t) / sizeof(T)];
    gdr_unit_t unit;

    GDR_UNROLL
    for (unsigned i = 0; i < sizeof(gdr_unit_t) / sizeof(T); i++)
        piece[i] = gdr_get<T>(address + i * sizeof(T));
    memcpy(&unit, piece, sizeof(unit));
    return unit;
}

template <class T> GDR_INLINE void gdr_put_pieces(uint64_t address, gdr_unit_t unit)
{
    T piece[sizeof(gdr_unit_t) / sizeof(T)];

    memcpy(piece, &unit, sizeof(unit));
    GDR_UNROLL
    for (unsigned i = 0; i < sizeof(gdr_unit_t) / sizeof(T); i++)
        gdr_put(address + i * sizeof(T), piece[i]);
}

/* Every operand lies on a 16-byte boundary. */
struct gdr_whole {
    static GDR_INLINE gdr_unit_t get(uint64_t address)
    {
        return gdr_get_whole(address);
    }
    static GDR_INLINE void put(uint64_t address, gdr_unit_t unit)
    {
        gdr_put_whole(address, unit);
    }
};

/* As wide as the address allows; the same branch for all threads of an operand. */
struct gdr_split {
    static GDR_INLINE gdr_unit_t get(uint64_t address)
    {
        if (address % 16 == 0)
            return gdr_get_whole(address);
        if (address % 8 == 0)
            return gdr_get_pieces<uint64_t>(address);
        if (address % 4 == 0)
            return gdr_get_pieces<uint32_t>(address);
        return gdr_get_pieces<uint8_t>(address);
    }
    static GDR_INLINE void put(uint64_t address, gdr_unit_t unit)
    {
        if (address % 16 == 0)
            gdr_put_whole(address, unit);
        else if (address % 8 == 0)
            gdr_put_pieces<uint64_t>(address, unit);
        else if (address % 4 == 0)
            gdr_put_pieces<uint32_t>(address, unit);
        else
            gdr_put_pieces<uint8_t>(address, unit);
    }
};

template <class Access, int DEPTH>
GDR_INLINE void gdr_load(gdr_unit_t (&unit)[DEPTH], uint64_t address, uint64_t stride)
{
    GDR_UNROLL
    for (int i = 0; i < DEPTH; i++)
        unit[i] = Access::get(address + i * stride);
}

template <class Access, int DEPTH>
GDR_INLINE void gdr_store(const gdr_unit_t (&unit)[DEPTH], uint64_t address, uint64_t stride)
{
    GDR_UNROLL
    for (int i = 0; i < DEPTH; i++)
        Access::put(address + i * stride, unit[i]);
}

/* The first `bytes` (< 16) bytes of a unit; the others are 0. */
GDR_INLINE gdr_unit_t gdr_load_bytes(uint64_t address, uint32_t bytes)
{
    uint8_t piece[sizeof(gdr_unit_t)];
    gdr_unit_t unit;

    GDR_UNROLL
    for (uint32_t i = 0; i < sizeof(gdr_unit_t); i++)
        piece[i] = i < bytes ? gdr_get<uint8_t>(address + i) : (uint8_t)0;
    memcpy(&unit, piece, sizeof(unit));
    return unit;
}

GDR_INLINE void gdr_store_bytes(gdr_unit_t unit, uint64_t address, uint32_t bytes)
{
    uint8_t piece[sizeof(gdr_unit_t)];

    memcpy(piece, &unit, sizeof(unit));
    GDR_UNROLL
    for (uint32_t i = 0; i < sizeof(gdr_unit_t); i++) {
        if (i < bytes)
            gdr_put(address + i, piece[i]);
    }
}

GDR_INLINE bool gdr_aborted(uint64_t word, uint64_t value)
{
    return word != 0 && gdr_get_volatile(word) == value;
}

#endif
