/*
 * The name of a code address. dladdr knows exported functions only, and names the nearest one when
 * it is far off; a plugin built with hidden visibility needs its file's own symbol table.
 */
#include "cuda_emu/core/emu.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const unsigned char *bytes;
    size_t size;
};

static bool map_file(const char *path, struct file *file)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size > sizeof(ElfW(Ehdr)))
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return false;
    *file = (struct file){at, (size_t)st.st_size};
    return true;
}

static const void *part(const struct file *file, size_t offset, size_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static bool symbol_in(const struct file *file, const ElfW(Shdr) * table, const ElfW(Shdr) * names,
                      uintptr_t value, char *name, size_t size)
{
    const ElfW(Sym) *symbols = part(file, table->sh_offset, table->sh_size);
    const char *strings = part(file, names->sh_offset, names->sh_size);

    if (symbols == NULL || strings == NULL)
        return false;
    for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
        const ElfW(Sym) *s = &symbols[i];

        if ((s->st_info & 0xf) == STT_FUNC && value >= s->st_value &&
            value < s->st_value + s->st_size && s->st_name < names->sh_size) {
            snprintf(name, size, "%.*s", (int)(names->sh_size - s->st_name), strings + s->st_name);
            return true;
        }
    }
    return false;
}

static bool find_symbol(const struct file *file, uintptr_t value, char *name, size_t size)
{
    const ElfW(Ehdr) *header = part(file, 0, sizeof(*header));
    const ElfW(Shdr) * sections;

    if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    sections = part(file, header->e_shoff, (size_t)header->e_shnum * sizeof(*sections));
    for (size_t i = 0; sections != NULL && i < header->e_shnum; i++) {
        const ElfW(Shdr) *s = &sections[i];

        if ((s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM) &&
            s->sh_link < header->e_shnum &&
            symbol_in(file, s, &sections[s->sh_link], value, name, size))
            return true;
    }
    return false;
}

void emu_symbol(const void *pc, char *text, size_t size)
{
    struct link_map *map = NULL;
    struct file file;
    char name[160];
    const char *base;
    Dl_info info;
    bool found = false;

    if (dladdr1(pc, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) {
        snprintf(text, size, "%p", pc);
        return;
    }
    if (map_file(map->l_name[0] == '\0' ? "/proc/self/exe" : map->l_name, &file)) {
        found = find_symbol(&file, (uintptr_t)pc - map->l_addr, name, sizeof(name));
        munmap((void *)(uintptr_t)file.bytes, file.size);
    }
    base = strrchr(info.dli_fname, '/');
    base = base == NULL ? info.dli_fname : base + 1;
    if (found)
        snprintf(text, size, "%s (%s+%#lx)", name, base, (uintptr_t)pc - map->l_addr);
    else
        snprintf(text, size, "%s+%#lx", base, (uintptr_t)pc - map->l_addr);
}

#define FRAMES 12

static bool belongs_to_cuda(const void *pc)
{
    Dl_info info;
    const char *base;

    if (dladdr(pc, &info) == 0 || info.dli_fname == NULL)
        return false;
    base = strrchr(info.dli_fname, '/');
    base = base == NULL ? info.dli_fname : base + 1;
    return strncmp(base, "libcudart", 9) == 0 || strncmp(base, "libcuda.so", 10) == 0;
}

/* The stack is walked only for callers through the runtime: a direct caller is known already. */
void *emu_outer_caller(void *direct)
{
    void *frames[FRAMES];
    int count, i = 0;

    if (!belongs_to_cuda(direct))
        return direct;
    count = backtrace(frames, FRAMES);
    while (i < count && belongs_to_cuda(frames[i]))
        i++;
    return i < count ? frames[i] : direct;
}
