/* coll_gdr_tuning_file: the machine's figures, one "name value" a line; # begins a comment. */
#include "mca/gdr_mca.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A plain file only: a pipe would keep MPI_Init waiting. NULL with errno. */
static FILE *open_plain(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat is;
    FILE *file = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode))
        errno = EINVAL;
    else
        file = fdopen(fd, "r");
    if (file == NULL)
        close(fd);
    return file;
}

void gdr_tuning_read(const char *path, gdr_machine_t *machine)
{
    gdr_machine_t read = *machine;
    FILE *file = open_plain(path);
    unsigned number = 0;
    char line[256];
    bool good = true;

    if (file == NULL) {
        gdr_error(&gdr_mca.log, "coll_gdr_tuning_file=%s: %s; taking the default figures", path,
                  errno == EINVAL ? "not a plain file" : strerror(errno));
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
                  "coll_gdr_tuning_file=%s: line %u is no figure and its value; taking the default "
                  "figures",
                  path, number);
}
