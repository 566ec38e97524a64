/*
 * What the generated emu_exports.c is made of. It includes no cuda.h: an export is an address.
 *
 * UCX patches entry points in place (its "bistro" hooks move the first instructions elsewhere), so
 * every export begins with 12 bytes that can be moved: six push/pop pairs. A compiler's prologue
 * is not good enough: the patch fails without a word and memory hooks stay off.
 */
#ifndef EMU_TRAMPOLINE_H
#define EMU_TRAMPOLINE_H

#include <stddef.h>

struct emu_export {
    const char *name;   /* as cuGetProcAddress is asked for it */
    int version;        /* CUDA version (12000 = 12.0) that brought this variant */
    int per_thread;     /* a NULL stream means the thread's own */
    const void *symbol; /* the trampoline */
    const char *symbol_name;
};

extern const struct emu_export emu_exports[]; /* sorted by name */
extern const size_t emu_export_count;

/* Records the call of a function that is not emulated; returns CUDA_ERROR_NOT_SUPPORTED. */
int emu_unimplemented(const char *name);

#define EMU_STUB(name)                                                                             \
    int emu_##name(void);                                                                          \
    __attribute__((weak)) int emu_##name(void)                                                     \
    {                                                                                              \
        return emu_unimplemented(#name);                                                           \
    }

#if defined(__x86_64__)
/* A NULL stream becomes CU_STREAM_PER_THREAD (2). */
#define EMU_PT(reg)  "test " reg ", " reg "\n jnz 1f\n mov $2, " reg "\n 1:\n"
#define EMU_PT_0     EMU_PT("%rdi")
#define EMU_PT_1     EMU_PT("%rsi")
#define EMU_PT_2     EMU_PT("%rdx")
#define EMU_PT_3     EMU_PT("%rcx")
#define EMU_PT_4     EMU_PT("%r8")
#define EMU_PT_5     EMU_PT("%r9")
#define EMU_PUSH_POP "push %rax\n pop %rax\n"
#define EMU_MOVABLE  EMU_PUSH_POP EMU_PUSH_POP EMU_PUSH_POP EMU_PUSH_POP EMU_PUSH_POP EMU_PUSH_POP
#define EMU_JUMP     "jmp "
#define EMU_ALIGN    ".p2align 4\n"
#elif defined(__aarch64__)
#define EMU_PT(reg) "cbnz " reg ", 1f\n mov " reg ", 2\n 1:\n"
#define EMU_PT_0    EMU_PT("x0")
#define EMU_PT_1    EMU_PT("x1")
#define EMU_PT_2    EMU_PT("x2")
#define EMU_PT_3    EMU_PT("x3")
#define EMU_PT_4    EMU_PT("x4")
#define EMU_PT_5    EMU_PT("x5")
#define EMU_MOVABLE "nop\n nop\n nop\n nop\n"
#define EMU_JUMP    "b "
#define EMU_ALIGN   ".p2align 4\n"
#else
#error "the emulator's exports need a jump for this architecture"
#endif
#define EMU_PT_NONE ""

#define EMU_TRAMPOLINE(name, target, per_thread)                                                   \
    extern const char name[];                                                                      \
    __asm__(".text\n" EMU_ALIGN ".globl " #name "\n.type " #name ", %function\n" #name             \
            ":\n" EMU_MOVABLE per_thread EMU_JUMP #target "\n.size " #name ", .-" #name "\n");

#endif
