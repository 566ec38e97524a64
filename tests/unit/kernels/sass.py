#!/usr/bin/env python3
"""What the compiled kernels do with memory, read from their disassembly.

    sass.py FILE.sass...     output of `cuobjdump -sass`; or PTX, as `nvcc -ptx` writes it

For each kernel and architecture, a line "KERNEL ARCH LOADS STORES LOCAL": the greatest number of
16-byte loads that are issued before one of them is waited for, the number of 16-byte stores, and
that of accesses to local memory (registers that were spilled).

A load is waited for by the first instruction that reads one of its registers. Straight-line code
only: a branch or a label ends the count.
"""
import re
import sys

LOAD = re.compile(r"\bLDG?\.E[.A-Z]*\.128\S*\s+(R\d+)|\bld\.global[.a-z]*\.v4\.\w+\s+\{([^}]*)\}"
                  r"|\bld\.global[.a-z]*\.v2\.[busf]64\s+\{([^}]*)\}")
STORE = re.compile(r"\bSTG?\.E[.A-Z]*\.128\b|\bst\.global[.a-z]*\.v4\."
                   r"|\bst\.global[.a-z]*\.v2\.[busf]64")
LOCAL = re.compile(r"\b(LDL|STL)\b|\b(ld|st)\.local\b")
BRANCH = re.compile(r"\b(BRA|BRX|EXIT|RET|BSYNC|WARPSYNC|CALL)\b|\bbra\b|\bret\b|^\s*[.$\w]+:\s*$")
REGISTER = re.compile(r"\bR(\d+)(\.64)?\b|(%\w+)")


def loaded(match):
    """Names of the registers that a 16-byte load fills."""
    if match.group(1):
        first = int(match.group(1)[1:])
        return {f"R{first + i}" for i in range(4)}
    return set((match.group(2) or match.group(3)).replace(" ", "").split(","))


def names(text):
    found = set()
    for number, wide, virtual in REGISTER.findall(text):
        if virtual:
            found.add(virtual)
        else:
            found.add("R" + number)
            if wide:
                found.add(f"R{int(number) + 1}")
    return found


class Kernel:
    def __init__(self, name, arch):
        self.name, self.arch = name, arch
        self.loads = self.stores = self.local = 0
        self.pending = set()
        self.run = 0

    def line(self, text):
        self.local += bool(LOCAL.search(text))
        if BRANCH.search(text):
            self.pending, self.run = set(), 0
            return
        match = LOAD.search(text)
        if match:
            self.pending |= loaded(match)
            self.run += 1
            self.loads = max(self.loads, self.run)
            return
        self.stores += bool(STORE.search(text))
        if names(text) & self.pending:
            self.pending, self.run = set(), 0


def kernels_of(path):
    kernel, arch = None, "?"
    with open(path) as lines:
        for text in lines:
            if text.startswith("                "): # the second half of an instruction's encoding
                continue
            target = re.match(r"\s*arch = (sm_\w+)|\.target (sm_\w+)", text)
            name = re.match(r"\s*Function : (\w+)|.*\.entry (\w+)\(", text)
            if target:
                arch = target.group(1) or target.group(2)
            elif name:
                kernel = Kernel(name.group(1) or name.group(2), arch)
                yield kernel
            elif kernel:
                kernel.line(text)


def main():
    found = [kernel for path in sys.argv[1:] for kernel in list(kernels_of(path))]
    for k in found:
        print(k.name, k.arch, k.loads, k.stores, k.local)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
