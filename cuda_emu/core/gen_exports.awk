# exports.list -> emu_names.h (mode=names) or emu_exports.c (mode=exports).
#
# An implementation is a C function with the API's own name; emu_names.h renames its symbol to
# emu_NAME. emu_exports.c holds, for each name, a weak emu_NAME that reports the call as not
# implemented, the exported trampoline, and the table that cuGetProcAddress searches.
/^#/ || NF == 0 { next }
{
    n++
    symbol[n] = $1; base[n] = $2; version[n] = $3; pt[n] = $4; how[n] = $5
}
function implementation(i,    name) {
    name = symbol[i]
    if (how[i] ~ /^[0-5]$/)
        sub(/_ptsz$/, "", name)
    return "emu_" name
}
function trampoline(i) {
    arg = (how[i] ~ /^[0-5]$/) ? how[i] : "NONE"
    printf "EMU_TRAMPOLINE(%s, %s, EMU_PT_%s)\n", symbol[i], implementation(i), arg
}
END {
    print "/* generated from exports.list by gen_exports.awk */"
    if (mode == "names") {
        for (i = 1; i <= n; i++)
            if (how[i] !~ /^[0-5]$/)
                printf "#pragma redefine_extname %s emu_%s\n", symbol[i], symbol[i]
        exit
    }
    print "#include \"cuda_emu/core/trampoline.h\"\n"
    for (i = 1; i <= n; i++)
        if (how[i] !~ /^[0-5]$/)
            printf "EMU_STUB(%s)\n", symbol[i]
    print ""
    for (i = 1; i <= n; i++)
        trampoline(i)
    print "\nconst struct emu_export emu_exports[] = {"
    for (i = 1; i <= n; i++)
        printf "    {\"%s\", %d, %d, %s, \"%s\"},\n", base[i], version[i], (pt[i] != "-"),
                symbol[i], symbol[i]
    print "};\nconst size_t emu_export_count = sizeof(emu_exports) / sizeof(emu_exports[0]);"
}
