/* Which node a process is on: a name that it votes with. */
#include "mca/gdr_mca.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Two machines may have one name (containers), two containers of a machine share its boot. */
static uint64_t host_hash(void)
{
    char name[256] = "", boot[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    uint64_t hash;

    if (gethostname(name, sizeof(name)) != 0)
        return 0;
    name[sizeof(name) - 1] = '\0';
    if (file != NULL) {
        if (fgets(boot, sizeof(boot), file) == NULL)
            boot[0] = '\0';
        fclose(file);
    }
    hash = mix(mix(UINT64_C(0xcbf29ce484222325), name), boot);
    return hash == 0 ? 1 : hash;
}

uint64_t gdr_mca_node(void)
{
    uint64_t size = gdr_mca.params.node_size;

    return size > 0 ? 1 + OPAL_PROC_MY_NAME.vpid / size : host_hash();
}
