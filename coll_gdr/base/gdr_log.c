#include "base/gdr_log.h"

#include <stdarg.h>
#include <stdio.h>

void gdr_log_write(const gdr_log_t *log, gdr_log_level_t level, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (log == NULL || log->emit == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    log->emit(log->ctx, level, text);
}
