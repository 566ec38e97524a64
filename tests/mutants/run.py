#!/usr/bin/env python3
"""Plants faults into a copy of the tree, one by one, and shows that the test named beside each
notices it.

    tests/mutants/run.py [NAME...]        (make mutants; make mutants MUTANTS="NAME...")

A file NAME.mutant says what is broken, which test must fail, optionally a shorter command than the
whole of that test, and the replacements of source text:

    what: one line
    test: tests/sim/test_allreduce        as in TESTS of the makefile
    run: bash command                     (default: that test)
    build: targets of make                (default: a program itself, "all" for a script)
    file: path/to/source.c
    <<<<
    text as it is, found exactly once
    ====
    text with the fault
    >>>>

Every command passes on the unbroken copy first; whole tests do so in make check. Two copies of the
tree are at work at the same time: one runs programs, mostly of one thread, the other scripts, which
launch processes. Environment: GDR_SRCDIR, GDR_BUILDDIR, GDR_UCX_LIBDIR as make check sets them;
GDR_JOBS. The copies lie in BUILDDIR/mutants.
"""
import glob
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time

SRC = os.environ["GDR_SRCDIR"]
BUILD = os.environ["GDR_BUILDDIR"]
JOBS = os.environ.get("GDR_JOBS") or str(os.cpu_count())
ROOT = os.path.join(BUILD, "mutants")
TREE = ["coll_gdr", "ucx_glue", "cuda_emu", "tools", "examples", "tests", "scripts", "docs", "m4",
        "build-aux", "Makefile.am", "Makefile.in", "configure", "configure.ac", "config.h.in",
        "aclocal.m4"]
LIMIT = 400  # seconds for a test that a fault makes hang; tests have shorter limits of their own


class Mutant:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-len(".mutant")]
        self.what = self.test = self.run = self.build = ""
        self.edits = []
        with open(path) as lines:
            self.parse(lines.read().splitlines())
        if not (self.what and self.test and self.edits):
            raise SystemExit(f"{path}: what:, test: and file: must be there")
        self.is_script = self.test.endswith(".sh") or self.build.startswith("all")
        self.command = self.run or (f"make -s check-TESTS TESTS={self.test}" if self.is_script
                                    else "./" + self.test)
        self.build = self.build or ("all" if self.is_script else self.test)

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
            elif line.startswith(("what: ", "test: ", "run: ", "build: ")):
                key, value = line.split(": ", 1)
                setattr(self, key, value)
            at += 1


class Tree:
    """A copy of the sources and a build of it, where mutants are tried one after another."""

    def __init__(self, name, mutants, broken):
        self.mutants = mutants
        self.broken = broken
        self.copy = os.path.join(ROOT, name, "src")
        self.obj = os.path.join(ROOT, name, "obj")
        self.logs = os.path.join(ROOT, name, "logs")
        self.good = False

    def logged(self, log, command, limit=None):
        """Exit status of a command, below 0 for a signal; None: killed after `limit` seconds."""
        environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
        environment.update(GDR_SRCDIR=self.copy, GDR_BUILDDIR=self.obj, srcdir=self.copy)
        with open(os.path.join(self.logs, log + ".log"), "a") as out:
            out.write(f"+ {command}\n")
            out.flush()
            process = subprocess.Popen(["bash", "-c", command], cwd=self.obj, stdout=out,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env=environment, start_new_session=True)
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 15)
                process.wait()
                return None

    def tail(self, log, lines=30):
        with open(os.path.join(self.logs, log + ".log"), errors="replace") as text:
            for line in text.read().splitlines()[-lines:]:
                print("    " + line)

    def build(self, log, targets):
        # Kernels for a card are not remade: what runs here are their twins. One target after the
        # other: "all" is a make of its own.
        return self.logged(log, " && ".join(
            f"make -s -j{JOBS} NVCC=true {target}" for target in
            ["built-sources"] + sorted(set(targets.split())))) == 0

    def prepare(self):
        """Configured as BUILD is, with the fatbins that are there already."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.rmtree(self.logs, ignore_errors=True)
        for directory in (self.copy, self.logs, os.path.join(self.obj, "coll_gdr/kernels")):
            os.makedirs(directory, exist_ok=True)
        skip = shutil.ignore_patterns("*.o", "*.lo", "*.log", "*.trs", ".deps", ".libs",
                                      "__pycache__")
        for name in TREE:
            source, target = os.path.join(SRC, name), os.path.join(self.copy, name)
            if os.path.isdir(source):
                shutil.copytree(source, target, ignore=skip)
            elif os.path.exists(source):
                shutil.copy2(source, target)
        # An earlier run, of other mutants, may have left objects of files that were broken then.
        for path in self.broken:
            os.utime(os.path.join(self.copy, path))
        flags = subprocess.run([os.path.join(BUILD, "config.status"), "--config"], check=True,
                               capture_output=True, text=True).stdout.strip()
        configured = self.logged("prepare", f"{shlex.quote(self.copy)}/configure -q {flags}")
        for fatbin in glob.glob(os.path.join(BUILD, "coll_gdr/kernels/*.fatbin")):
            shutil.copy(fatbin, os.path.join(self.obj, "coll_gdr/kernels"))
        targets = " ".join(sorted({mutant.build for mutant in self.mutants}))
        scripts = any(mutant.is_script for mutant in self.mutants)
        if configured != 0 or not self.build("prepare", targets) or \
                scripts and self.logged("prepare", f"make -s -j{JOBS} check TESTS=") != 0:
            print("FAIL: mutants: the copy cannot be built")
            self.tail("prepare")
            return False
        return True

    def apply(self, mutant):
        """The original texts, by file name; None, and a line, if an edit has no place."""
        originals = {}
        for name, before, after in mutant.edits:
            path = os.path.join(self.copy, name)
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

    def attempt(self, mutant):
        begin = time.monotonic()
        originals = self.apply(mutant)
        if originals is None:
            return False
        try:
            if not self.build(mutant.name, mutant.build):
                print(f"FAIL: {mutant.name}: does not compile")
                self.tail(mutant.name)
                return False
            status = self.logged(mutant.name, mutant.command, LIMIT)
        finally:
            restore(originals)
        seconds = time.monotonic() - begin
        if status in (0, 77):
            print(f"FAIL: {mutant.name}: {mutant.what}: {mutant.test} did not notice")
            self.tail(mutant.name)
            return False
        how = ("it hung" if status is None else
               f"signal {-status}" if status < 0 else f"exit status {status}")
        print(f"PASS: {mutant.name}: {mutant.what}: noticed by {mutant.test} "
              f"({how}, {seconds:.0f} s)")
        return True

    def passes_unbroken(self):
        good = True
        for command in dict.fromkeys(mutant.command for mutant in self.mutants if mutant.run):
            if self.logged("unbroken", command, LIMIT) != 0:
                print(f"FAIL: unbroken: {command}")
                self.tail("unbroken")
                good = False
        return good

    def try_all(self):
        good = self.prepare() and self.passes_unbroken()
        if good:
            for mutant in self.mutants:
                good = self.attempt(mutant) and good
        self.good = good


def restore(originals):
    for path, text in originals.items():
        with open(path, "w") as source:
            source.write(text)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    folder = os.path.dirname(os.path.abspath(__file__))
    paths = sorted(glob.glob(os.path.join(folder, "*.mutant")))
    mutants = [Mutant(path) for path in paths]
    broken = {name for mutant in mutants for name, _, _ in mutant.edits}
    if len(sys.argv) > 1:
        unknown = set(sys.argv[1:]) - {mutant.name for mutant in mutants}
        if unknown:
            raise SystemExit(f"no such mutant: {' '.join(sorted(unknown))}")
        mutants = [mutant for mutant in mutants if mutant.name in sys.argv[1:]]
    trees = [Tree("programs", [mutant for mutant in mutants if not mutant.is_script], broken),
             Tree("scripts", [mutant for mutant in mutants if mutant.is_script], broken)]
    threads = [threading.Thread(target=tree.try_all) for tree in trees if tree.mutants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0 if all(tree.good for tree in trees if tree.mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
