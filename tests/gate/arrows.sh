#!/bin/bash
# The arrows between rooms: what they include, what their objects link, what the shared objects
# export and need. Names every breach and exits 1.
#   tests/gate/arrows.sh [SOURCE-DIRECTORY BUILD-DIRECTORY]
set -euo pipefail

SRC=${1:-${GDR_SRCDIR:-.}}
OBJ=${2:-${GDR_BUILDDIR:-.}}
. "$(dirname "${BASH_SOURCE[0]}")/rooms.sh"
BREACHES=$(mktemp)
SYMBOLS=$(mktemp)
trap 'rm -f "$BREACHES" "$SYMBOLS"' EXIT

breach() {
    echo "BREACH: $*" | tee -a "$BREACHES"
}

# Whether NAME matches one of the patterns: matches NAME PATTERN...
matches() {
    local name=$1 pattern

    shift
    for pattern in "$@"; do
        # shellcheck disable=SC2254 # a pattern
        case $name in
        $pattern) return 0 ;;
        esac
    done
    return 1
}

# Names with a directory, and single headers that are not libc's.
is_foreign() {
    case $1 in
    sys/* | netinet/* | bits/* | linux/*) return 1 ;;
    */* | cuda* | nvml* | mpi* | ompi* | config.h) return 0 ;;
    esac
    return 1
}

check_includes() {
    local room=$1 own file name
    local allowed

    set -f # the table holds patterns, not file names
    # shellcheck disable=SC2207
    allowed=($(may_include "$room"))
    set +f
    own=${room#coll_gdr/}
    while IFS=: read -r file line name; do
        is_foreign "$name" || continue
        matches "$name" "$own/*" "${allowed[@]}" && continue
        [ ! -e "$(dirname "$file")/$name" ] || continue # beside the file
        breach "$file:$line: $room must not include $name"
    done < <(find "$SRC/$room" -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cc' -o -name '*.def' \) ! -path '*/tests/*' \
        ! -path '*/shim/*' -exec grep -HnoE '^ *# *include +["<][^">]+' {} + |
        sed -E 's/^([^:]*:[0-9]+:).*["<]/\1/' | sort)
}

# Objects of a room: the position-independent ones that go into libraries. The twins live in the
# emulator's process and trap on purpose.
objects() {
    [ ! -d "$OBJ/$1" ] || find "$OBJ/$1" -path '*/.libs/*.o' ! -path '*/tests/*' \
        ! -name 'libgdr_twins_la-*' | sort
}

# nm of a room's objects as lines "object: ... symbol"
nm_room() {
    local room=$1

    shift
    objects "$room" | xargs -r nm -A "$@" 2>/dev/null | sed "s|^$OBJ/||"
}

# Lines "symbol room" for everything that rooms define, into $SYMBOLS.
collect_symbols() {
    local room

    for room in $ROOMS; do
        nm_room "$room" -g --defined-only | awk -v room="$room" '{ print $NF, room }'
    done | sort -u >"$SYMBOLS"
}

check_links() {
    local room=$1 line

    while read -r line; do
        breach "$line"
    done < <(nm_room "$room" -u | awk -v room="$room" -v allowed=" $room $(may_link "$room") " \
        -v symbols="$SYMBOLS" -v single="$(may_link_symbol "$room")" \
        -v family="$(symbol_family "$room")" -v never="$(never "$room")" '
        BEGIN {
            while ((getline line < symbols) > 0) {
                split(line, part, " ")
                owner[part[1]] = owner[part[1]] " " part[2]
            }
        }
        # defined in several rooms (a test double, say): any allowed one will do
        function allows(names,   n, list, i) {
            n = split(names, list, " ")
            for (i = 1; i <= n; i++)
                if (index(allowed, " " list[i] " "))
                    return 1
            return 0
        }
        {
            object = $1
            sub(/:$/, "", object)
            symbol = $NF
            if (symbol ~ never)
                print object ": " room " must not call " symbol
            else if (symbol ~ family)
                print object ": " room " must not use " symbol
            else if (owner[symbol] ~ /coll_gdr|ucx_glue|tools/ && !allows(owner[symbol]) &&
                     symbol !~ single)
                print object ": " room " must not use " symbol " of" owner[symbol]
        }')
}

# shared FILE EXPORTED-PATTERN NEEDED-PATTERN (extended regular expressions of whole names)
check_shared() {
    local file=$1 name

    [ -e "$file" ] || return 0
    while read -r name; do
        breach "${file#"$OBJ"/} exports $name"
    done < <(nm -D --defined-only "$file" | awk 'NF == 3 { print $3 }' | sed 's/@.*//' |
        grep -vxE "$2" || true)
    while read -r name; do
        breach "${file#"$OBJ"/} needs $name at load time"
    done < <(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE "$3" || true)
}

# No file may tell the loader to look where a CUDA library lies.
check_rpath() {
    local file=$1 dir

    while read -r dir; do
        [ -n "$dir" ] || continue
        case $(cd "$dir" 2>/dev/null && echo libcuda* libcudart*) in
        '' | 'libcuda* libcudart*') ;;
        *) breach "${file#"$OBJ"/} has a run path to CUDA libraries: $dir" ;;
        esac
    done < <(readelf -d "$file" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p' | tr ':' '\n')
}

LIBC='libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux.*'
SANITIZERS='lib(asan|ubsan)\.so\.[0-9]+'

for room in $ROOMS; do
    check_includes "$room"
done
collect_symbols
for room in $ROOMS; do
    check_links "$room"
done
# libpmix: Open MPI 5.0 has no interface of its own to what processes publish (docs/ompi.md).
check_shared "$OBJ/.libs/mca_coll_gdr.so" mca_coll_gdr_component \
    "libmpi\.so\.[0-9]+|libopen-pal\.so\.[0-9]+|libpmix\.so\.[0-9]+|$LIBC|$SANITIZERS"
check_shared "$OBJ/.libs/gdr_ucx.so" 'gdr_ucx_[a-z_]+' \
    "libucp\.so\.0|libucs\.so\.0|$LIBC|$SANITIZERS"
if [ -e "$OBJ/.libs/gdr_ucx.so" ] &&
    [ "$(nm -D --defined-only "$OBJ/.libs/gdr_ucx.so" | wc -l)" != 1 ]; then
    breach ".libs/gdr_ucx.so must export exactly one symbol"
fi
check_shared "$OBJ/cuda_emu/.libs/libcuda.so.1" '(cu|cuda_emu_).*' "$LIBC|$SANITIZERS"
check_shared "$OBJ/cuda_emu/.libs/libnvidia-ml.so.1" 'nvml.*' "$LIBC|$SANITIZERS"
check_shared "$OBJ/.libs/libgdr_twins.so" 'cuda_emu_twin_.*' "$LIBC|$SANITIZERS"
check_shared "$OBJ/.libs/gdr_bench" '.*' \
    "libmpi\.so\.[0-9]+|libopen-(pal|rte)\.so\.[0-9]+|$LIBC|$SANITIZERS"
for file in "$OBJ"/.libs/*.so "$OBJ"/cuda_emu/.libs/*.so.1 "$OBJ/gdr_bench"; do
    [ ! -e "$file" ] || [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || check_rpath "$file"
done

if [ -s "$BREACHES" ]; then
    echo "$(wc -l <"$BREACHES") breaches; the map is tests/gate/rooms.sh"
    exit 1
fi
echo "all arrows hold"
