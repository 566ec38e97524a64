/* placeholder */
#include "cuda_emu/core/emu.h"
void emu_vmm_drop(struct emu_alloc *alloc)
{
    (void)alloc;
}
