# ucx_glue
