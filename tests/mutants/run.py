#!/usr/bin/env python3
"""Plants faults into a copy of the tree, one by one, and shows that the test named beside each
notices it.

    tests/mutants/run.py [NAME...]        (make mutants; make mutants MUTANTS="NAME...")

A file NAME.mutant says what is broken, which test must fail, optionally a shorter command than the
whole of that test, and the replacements of source text:

    what: one line
    test: tests/sim/test_allreduce        as in TESTS of the makefile
    run: bash command                     (default: that test)
    file: path/to/source.c
    <<<<
    text as it is, found exactly once
    ====
    text with the fault
    >>>>

Every command must pass on the unbroken copy first. Environment: GDR_SRCDIR, GDR_BUILDDIR,
GDR_UCX_LIBDIR as make check sets them; GDR_JOBS. The copy lies in BUILDDIR/mutants.
"""
import glob
import os
import shlex
import shutil
import subprocess
import sys
import time

SRC = os.environ["GDR_SRCDIR"]
BUILD = os.environ["GDR_BUILDDIR"]
JOBS = os.environ.get("GDR_JOBS") or str(os.cpu_count())
COPY = os.path.join(BUILD, "mutants", "src")
OBJ = os.path.join(BUILD, "mutants", "obj")
LOGS = os.path.join(BUILD, "mutants", "logs")
TREE = ["coll_gdr", "ucx_glue", "cuda_emu", "tools", "examples", "tests", "scripts", "docs", "m4",
        "build-aux", "Makefile.am", "Makefile.in", "configure", "configure.ac", "config.h.in",
        "aclocal.m4"]
LIMIT = 400  # seconds for a test that a fault makes hang; tests have shorter limits of their own


class Mutant:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-len(".mutant")]
        self.what = self.test = self.run = ""
        self.edits = []
        with open(path) as lines:
            self.parse(lines.read().splitlines())
        if not (self.what and self.test and self.edits):
            raise SystemExit(f"{path}: what:, test: and file: must be there")
        self.command = self.run or f"make -s check-TESTS TESTS={self.test}"

    def parse(self, lines):
        name = ""
        at = 0
        while at < len(lines):
            line = lines[at]
            if line == "<<<<":
                middle = lines.index("====", at)
                end = lines.index(">>>>", middle)
                self.edits.append((name, "\n".join(lines[at + 1:middle]),
                                   "\n".join(lines[middle + 1:end])))
                at = end
            elif line.startswith("file: "):
                name = line[len("file: "):]
            elif line.startswith(("what: ", "test: ", "run: ")):
                key, value = line.split(": ", 1)
                setattr(self, key, value)
            at += 1


def logged(log, command, directory, limit=None):
    """Exit status of a shell command; -1 when it was killed after `limit` seconds."""
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    environment.update(GDR_SRCDIR=COPY, GDR_BUILDDIR=OBJ, srcdir=COPY)
    with open(os.path.join(LOGS, log + ".log"), "a") as out:
        out.write(f"+ {command}\n")
        out.flush()
        process = subprocess.Popen(["bash", "-c", command], cwd=directory, stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env=environment, start_new_session=True)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 15)
            process.wait()
            return -1


def tail(log, lines=30):
    with open(os.path.join(LOGS, log + ".log"), errors="replace") as text:
        for line in text.read().splitlines()[-lines:]:
            print("    " + line)


def build(log):
    # Kernels for a card are not remade: what runs here are their twins.
    return logged(log, f"make -s -j{JOBS} NVCC=true all && "
                       f"make -s -j{JOBS} NVCC=true check TESTS=", OBJ)


def prepare():
    """A copy of the tree, configured as this one is, with the fatbins that are there already."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.rmtree(LOGS, ignore_errors=True)
    os.makedirs(COPY)
    os.makedirs(LOGS)
    os.makedirs(OBJ, exist_ok=True)
    skip = shutil.ignore_patterns("*.o", "*.lo", "*.log", "*.trs", ".deps", ".libs", "__pycache__")
    for name in TREE:
        source, target = os.path.join(SRC, name), os.path.join(COPY, name)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=skip)
        elif os.path.exists(source):
            shutil.copy2(source, target)
    flags = subprocess.run([os.path.join(BUILD, "config.status"), "--config"], check=True,
                           capture_output=True, text=True).stdout.strip()
    if logged("prepare", f"{shlex.quote(COPY)}/configure -q {flags}", OBJ) != 0:
        tail("prepare")
        raise SystemExit("FAIL: mutants: the copy cannot be configured")
    fatbins = glob.glob(os.path.join(BUILD, "coll_gdr/kernels/*.fatbin"))
    os.makedirs(os.path.join(OBJ, "coll_gdr/kernels"), exist_ok=True)
    for fatbin in fatbins:
        shutil.copy(fatbin, os.path.join(OBJ, "coll_gdr/kernels"))
    if build("prepare") != 0:
        tail("prepare")
        raise SystemExit("FAIL: mutants: the copy cannot be built")


def apply(mutant):
    """The original texts, by file name; None, with the reason printed, if an edit has no place."""
    originals = {}
    for name, before, after in mutant.edits:
        path = os.path.join(COPY, name)
        with open(path) as source:
            text = source.read()
        originals.setdefault(path, text)
        if text.count(before) != 1:
            print(f"FAIL: {mutant.name}: its text is {text.count(before)} times in {name}")
            restore(originals)
            return None
        with open(path, "w") as source:
            source.write(text.replace(before, after))
    return originals


def restore(originals):
    for path, text in originals.items():
        with open(path, "w") as source:
            source.write(text)


def try_mutant(mutant):
    begin = time.monotonic()
    originals = apply(mutant)
    if originals is None:
        return False
    try:
        if build(mutant.name) != 0:
            print(f"FAIL: {mutant.name}: does not compile")
            tail(mutant.name)
            return False
        status = logged(mutant.name, mutant.command, OBJ, LIMIT)
    finally:
        restore(originals)
    seconds = time.monotonic() - begin
    if status in (0, 77):
        print(f"FAIL: {mutant.name}: {mutant.what}: {mutant.test} did not notice")
        tail(mutant.name)
        return False
    how = "it hung" if status < 0 else f"exit status {status}"
    print(f"PASS: {mutant.name}: {mutant.what}: noticed by {mutant.test} ({how}, {seconds:.0f} s)")
    return True


def main():
    sys.stdout.reconfigure(line_buffering=True)
    folder = os.path.dirname(os.path.abspath(__file__))
    paths = sorted(glob.glob(os.path.join(folder, "*.mutant")))
    mutants = [Mutant(path) for path in paths]
    if len(sys.argv) > 1:
        unknown = set(sys.argv[1:]) - {mutant.name for mutant in mutants}
        if unknown:
            raise SystemExit(f"no such mutant: {' '.join(sorted(unknown))}")
        mutants = [mutant for mutant in mutants if mutant.name in sys.argv[1:]]
    prepare()
    good = True
    for command in dict.fromkeys(mutant.command for mutant in mutants):
        if logged("unbroken", command, OBJ, LIMIT) != 0:
            print(f"FAIL: unbroken: {command}")
            tail("unbroken")
            good = False
    if good:
        for mutant in mutants:
            good = try_mutant(mutant) and good
        if build("prepare") != 0:
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
