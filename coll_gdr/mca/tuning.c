/* coll_gdr_tuning: a file of the machine's figures, one "name value" a line; # begins a comment. */
#include "mca/gdr_mca.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* False: the line makes no sense. */
static bool take_line(gdr_machine_t *machine, char *line)
{
    char name[32], rest[2];
    uint64_t value;
    int n;

    line[strcspn(line, "#\n")] = '\0';
    n = sscanf(line, "%31s %" SCNu64 " %1s", name, &value, rest);
    return n == EOF ||
           (n == 2 && strchr(line, '-') == NULL && gdr_machine_set(machine, name, value));
}

void gdr_tuning_read(const char *path, gdr_machine_t *machine)
{
    gdr_machine_t read = *machine;
    FILE *file = fopen(path, "re");
    unsigned number = 0;
    char line[256];
    bool good = true;

    if (file == NULL) {
        gdr_error(&gdr_mca.log, "coll_gdr_tuning=%s: %s; taking the default figures", path,
                  strerror(errno));
        return;
    }
    while (good && fgets(line, sizeof(line), file) != NULL) {
        number++;
        good = take_line(&read, line);
    }
    fclose(file);
    if (good)
        *machine = read;
    else
        gdr_error(&gdr_mca.log,
                  "coll_gdr_tuning=%s: line %u is no figure and its value; taking the default "
                  "figures",
                  path, number);
}
