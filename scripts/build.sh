# Configure, make, install into build/prefix; write build/env.sh.

# Every file that the build reads, without what autogen.sh makes.
sources() {
    (cd "$TOP" && find configure.ac Makefile.am autogen.sh m4 coll_gdr ucx_glue cuda_emu tools \
        examples tests scripts -type f ! -path 'm4/lt*.m4' ! -name libtool.m4 -print |
        LC_ALL=C sort)
}

build_all() {
    local flags=("--prefix=$PREFIX" "--with-ucx=$UCX_DIR" "--with-cuda=$CUDA_DIR"
        "${OMPI_FLAGS[@]}")
    local hash

    cd "$TOP"
    # shellcheck disable=SC2046 # names without blanks: check_place
    hash=$(hash_of $(sources | grep -E '(^m4/|\.mk$|\.am$|\.ac$)') -- "${flags[@]}" \
        "$(mpicc --showme:version 2>&1)")
    if ! is_done configure "$hash"; then
        say "configuring (UCX $UCX_DIR, CUDA $CUDA_DIR)"
        logged autogen ./autogen.sh
        (cd "$BUILD" && logged configure "$TOP/configure" "${flags[@]}")
        mark_done configure "$hash"
    fi
    # shellcheck disable=SC2046
    hash=$(hash_of $(sources) -- "$hash")
    if ! is_done build "$hash"; then
        say "building in build/ with $JOBS jobs (kernels take the longest)"
        logged make make -C "$BUILD" -j"$JOBS"
        say "installing into build/prefix"
        logged install make -C "$BUILD" install
        mark_done build "$hash"
    fi
}

# The plugin's directory first, then where Open MPI looks anyway. In 5.0 PMIx and PRRTE read the
# variable too and do not understand SYSTEM_DEFAULT.
component_path() {
    case $(mpicc --showme:version) in
    *" 4."*) echo "$PREFIX/lib/openmpi:SYSTEM_DEFAULT" ;;
    *) echo "$PREFIX/lib/openmpi:$(ompi_info --path pkglibdir --parsable | cut -d: -f3)" ;;
    esac
}

# With a card, programs find the CUDA runtime of the toolkit that built them; cuda-emu brings its
# own.
cudart_path() {
    local dir

    [ -n "$GPU_NAME" ] || return 0
    for dir in "$CUDA_DIR/lib64" "$CUDA_DIR/lib"; do
        [ -e "$dir/libcudart.so.$CUDA_MAJOR" ] || continue
        cat <<TEXT
case ":\$LD_LIBRARY_PATH:" in
*":$dir:"*) ;;
*) export LD_LIBRARY_PATH="\$LD_LIBRARY_PATH:$dir" ;;
esac
TEXT
        return
    done
}

write_env() {
    mkdir -p "$PREFIX/lib/openmpi" # Open MPI stops its search at a directory that is not there
    {
        cat <<TEXT
# coll/gdr: sets a shell up for mpirun, gdr_bench, cuda-emu and ompi_info. Made by ./quickstart.
case ":\$PATH:" in
*":$PREFIX/bin:"*) ;;
*) export PATH="$PREFIX/bin:\$PATH" ;;
esac
case ":\${LD_LIBRARY_PATH-}:" in
*":$UCX_DIR/lib:"*) ;;
*) export LD_LIBRARY_PATH="$UCX_DIR/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" ;;
esac
$(cudart_path)
export OMPI_MCA_mca_base_component_path="$(component_path)"
# PMIx takes Open MPI's path for its own otherwise, and complains of what lies there
export PMIX_MCA_mca_base_component_path=
TEXT
        [ "$(id -u)" != 0 ] || cat <<'TEXT'
# mpirun refuses to start as root otherwise
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
TEXT
        [ "$(nproc)" -ge 8 ] || cat <<'TEXT'
# more ranks than this machine has cores
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
TEXT
    } >"$BUILD/env.sh.tmp"
    if ! cmp -s "$BUILD/env.sh.tmp" "$BUILD/env.sh"; then
        mv "$BUILD/env.sh.tmp" "$BUILD/env.sh"
        say "wrote build/env.sh"
    else
        rm "$BUILD/env.sh.tmp"
    fi
}
