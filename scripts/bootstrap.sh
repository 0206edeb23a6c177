# Sourced by the scripts at the root, with $root set. Gives set_up LEVEL, which leaves in $venv a virtual environment
# that holds the pinned dependencies of that level and this checkout in editable mode:
#
#   run     .venv         what Segue needs to run
#   test    .venv         that, and the tools of ./test
#   bench   .venv-bench   what Segue needs to run, and the libraries it is measured against
#   bridges .venv-bridges what Segue needs to run, and the frameworks under segue.bridges with their test tools
#
# A stamp inside the environment holds a checksum of everything it was made from, so the usual call costs one cksum.
# It is removed before anything changes and written last: an environment without a stamp is rebuilt.

say() {
    printf 'segue: %s\n' "$*" >&2
}

die() {
    say "$@"
    exit 1
}

# The place counts too: a virtual environment that was copied or moved still points to where it was made.
checksum() {
    {
        printf '%s\n' "$root"
        cat "$root/pyproject.toml" "$root/src/segue/_version.py" "$root/scripts/bootstrap.sh" "$root"/requirements/*.txt
    } | cksum
}

is_ready() {
    [ -x "$venv/bin/python" ] && [ -r "$venv/stamp-$1" ] && [ "$(cat "$venv/stamp-$1")" = "$wanted" ]
}

is_usable() {
    [ -x "$venv/bin/python" ] && cat "$venv"/stamp-* >/dev/null 2>&1 && [ "$(cat "$venv/place")" = "$root" ]
}

find_python() {
    too_old='' incomplete=''
    for candidate in python3 python3.13 python3.12 python3.11; do
        found=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        if ! "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            too_old="$too_old $candidate is $found;"
        elif ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            incomplete="$candidate ($found)"
        else
            python=$candidate
            return
        fi
    done
    [ -z "$incomplete" ] ||
        die "$incomplete comes without venv or pip; install them (on Debian and Ubuntu: apt-get install python3-venv)"
    [ -z "$too_old" ] || die "Python 3.11 or newer is needed, but${too_old%;}"
    die 'Python 3.11 or newer is needed, and no python3 was found'
}

pip_install() {
    "$venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check --no-input "$@" >&2 ||
        die 'the dependencies could not be installed (see the output of pip above); the next call tries again'
}

set_up() {
    case $1 in
    bench | bridges) venv=$root/.venv-$1 ;;
    *) venv=$root/.venv ;;
    esac
    wanted=$(checksum)
    if is_ready "$1"; then return; fi

    find_python
    [ -w "$root" ] || die "cannot make ${venv##*/}: $root is not writable"
    # The kernel's lock stays with this shell's descriptor after the short Python process that took it, and goes with
    # this shell however it ends: of two first calls at once, one sets up and the other waits.
    exec 9>"$venv.lock"
    "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' || die "cannot lock $venv.lock"
    if ! is_ready "$1"; then
        if is_usable; then
            say "bringing ${venv##*/} up to date…"
            rm -f "$venv"/stamp-*
        else
            say "setting up ${venv##*/} (once)…"
            "$python" -m venv --clear "$venv" >&2 || die "$python could not make a virtual environment in $venv"
            printf '%s\n' "$root" >"$venv/place"
        fi
        pip_install --require-hashes -r "$root/requirements/$1.txt"
        pip_install --no-deps --no-build-isolation -e "$root"
        printf '%s\n' "$wanted" >"$venv/stamp-$1"
        if [ "$1" = test ]; then cp "$venv/stamp-test" "$venv/stamp-run"; fi
    fi
    exec 9>&-
}
