/* The names of all kernels in the table, one a line. */
#include <stdio.h>

#include "kernels/gdr_kernels.h"

int main(void)
{
    for (size_t i = 0; i < gdr_kernels_count(); i++)
        puts(gdr_kernels_at(i)->name);
    return 0;
}
