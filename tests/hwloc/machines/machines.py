#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes the machines beside it as XML for hwloc 2 and 3, from what their makers say of them: machines.py, or machines.py --check."""

import pathlib
import sys

GIB = 1 << 30


class Sheet:
    """One topology on paper: objects are added as lines, with the numbers that hwloc wants."""

    def __init__(self, name, cpus, nodes):
        self.lines, self.depth, self.last, self.after = [], 1, 0, []
        every_cpu, every_node = mask(range(cpus)), mask(range(nodes))
        self.open("Machine", f'os_index="0" {sets(every_cpu, every_node, "complete_")} allowed_cpuset="{every_cpu}" allowed_nodeset="{every_node}"')
        self.lines.append(f'    <info name="DMIProductName" value="{name}"/>')

    def add(self, kind, attributes, end="/>"):
        self.last += 1
        self.lines.append(f'{"  " * self.depth}<object type="{kind}" gp_index="{self.last}" {attributes}{end}')
        return self.last

    def open(self, kind, attributes):
        number = self.add(kind, attributes, ">")
        self.depth += 1
        return number

    def close(self, levels=1):
        for _ in range(levels):
            self.depth -= 1
            self.lines.append(f'{"  " * self.depth}</object>')

    def matrix(self, head, indexes, values):
        indexes, values = " ".join(map(str, indexes)), " ".join(str(v) for row in values for v in row)
        self.after.append(f'  {head}\n    <indexes length="{len(indexes)}">{indexes}</indexes>\n    <u64values length="{len(values)}">{values}</u64values>\n'
                          f'  </{head[1:].split()[0]}>')

    def latencies(self, rows):
        self.matrix(f'<distances2 type="NUMANode" nbobjs="{len(rows)}" kind="5" name="NUMALatency" indexing="os">', range(len(rows)), rows)

    def nvlink(self, gpus, rows):
        self.matrix(f'<distances2 type="OSDev" nbobjs="{len(rows)}" kind="9" name="NVLinkBandwidth" indexing="gp">', gpus, rows)

    def text(self):
        self.close(self.depth - 1)
        head = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">', '<topology version="2.0">']
        return "\n".join(head + self.lines + self.after + ["</topology>", ""])


def mask(numbers):
    """A set as hwloc writes it: words of 32 bits, the highest first."""
    value = sum(1 << n for n in numbers)
    words = []
    while value or not words:
        words.append(f"0x{value & 0xffffffff:08x}")
        value >>= 32
    return ",".join(reversed(words))


def sets(cpuset, nodeset, also=None):
    out = f'cpuset="{cpuset}" nodeset="{nodeset}"'
    return out + (f' {also}cpuset="{cpuset}" {also}nodeset="{nodeset}"' if also else "")


def memory(sheet, number, cpus, gib, subtype=None):
    size = f' local_memory="{gib * GIB}"' if gib else ""
    kind = f' subtype="{subtype}"' if subtype else ""
    sheet.add("NUMANode", f'os_index="{number}"{kind} {sets(mask(cpus), mask([number]), "complete_")}{size}')


def cores(sheet, threads_of, nodeset):
    """Cores with these threads each, numbered as they come."""
    for number, threads in enumerate(threads_of):
        sheet.open("Core", f'os_index="{number}" {sets(mask(threads), nodeset, "complete_")}')
        for thread in threads:
            sheet.add("PU", f'os_index="{thread}" {sets(mask([thread]), nodeset, "complete_")}')
        sheet.close()


def flat(threads_of):
    return sorted(t for threads in threads_of for t in threads)


def level(sheet, kind, threads_of, nodeset, more=""):
    sheet.open(kind, f'{more}{sets(mask(flat(threads_of)), nodeset, "complete_")}')


def cache(sheet, threads_of, nodeset, mib):
    level(sheet, "L3Cache", threads_of, nodeset, f'cache_size="{mib << 20}" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0" ')


def bridge(sheet, address, first, last, device):
    """A root port, or a port of a switch below it."""
    sheet.open("Bridge", f'bridge_type="1-1" depth="1" bridge_pci="0000:[{first:02x}-{last:02x}]" pci_busid="{address}" '
                         f'pci_type="0604 [{device}] [0000:0000] 01" pci_link_speed="0.000000"')


def host(sheet, first, last):
    sheet.open("Bridge", f'bridge_type="0-1" depth="0" bridge_pci="0000:[{first:02x}-{last:02x}]"')


def gpu(sheet, bus, number, device, kind="0302"):
    """The PCI device and what NVML calls it; the number of the latter."""
    sheet.open("PCIDev", f'pci_busid="0000:{bus:02x}:00.0" pci_type="{kind} [10de:{device}] [0000:0000] a1" pci_link_speed="15.753846"')
    found = sheet.add("OSDev", f'name="nvml{number}" subtype="NVML" osdev_type="1"')
    sheet.close()
    return found


def dgx_1():
    """NVIDIA DGX-1 with V100: hybrid cube mesh, two switches on each package. The number in nvmlN runs against the bus on purpose: no code may rely on it."""
    sheet = Sheet("DGX-1 with V100", 80, 2)
    gpus = []
    for package in range(2):
        threads_of, nodeset = [(c, c + 40) for c in range(package * 20, package * 20 + 20)], mask([package])
        level(sheet, "Package", threads_of, nodeset, f'os_index="{package}" ')
        memory(sheet, package, flat(threads_of), 256)
        cache(sheet, threads_of, nodeset, 50)
        cores(sheet, threads_of, nodeset)
        sheet.close()
        base = 0x80 * package
        host(sheet, base, base + 0x7f)
        for first in (5, 9):
            bridge(sheet, f"0000:{base:02x}:0{first // 4}.0", base + first - 1, base + first + 2, "8086:6f08")
            for bus in (base + first + 1, base + first + 2) if package == 0 else (base + first, base + first + 1):
                gpus.append(gpu(sheet, bus, 7 - len(gpus), "1db1"))
            sheet.close()
        sheet.add("PCIDev", f'pci_busid="0000:{base + 0x70:02x}:00.0" pci_type="0300 [1a03:2000] [0000:0000] 30" pci_link_speed="0.000000"')  # a console
        sheet.close(2)
    links = ("01122000", "10210200", "12020010", "21200001", "20000112", "02001021", "00101202", "00012120")
    rows = [[int(links[i][j]) * 25000 if i != j else 1000000 for j in range(8)] for i in range(8)]
    sheet.nvlink(gpus, rows)
    sheet.latencies([[10, 21], [21, 10]])
    return sheet.text()


def four_sockets():
    """Four Xeon Gold 6230 in a ring of two UPI links each, GPUs on the first and the third, the last one without its own memory."""
    sheet = Sheet("four sockets", 160, 4)
    for package in range(4):
        threads_of, nodeset = [(c, c + 80) for c in range(package * 20, package * 20 + 20)], mask([package])
        level(sheet, "Package", threads_of, nodeset, f'os_index="{package}" ')
        memory(sheet, package, flat(threads_of), 192 if package < 3 else 0)
        cache(sheet, threads_of, nodeset, 27)
        cores(sheet, threads_of, nodeset)
        sheet.close()
        base = 0x40 * package
        if package % 2 == 0:
            host(sheet, base, base + 0x3f)
            for slot in range(2):
                bridge(sheet, f"0000:{base:02x}:0{slot + 1}.0", base + 16 * slot + 8, base + 16 * slot + 9, "8086:2030")
                gpu(sheet, base + 16 * slot + 9, package + slot, "1eb8")
                sheet.close()
            sheet.close()
        sheet.close()
    sheet.latencies([[10, 21, 31, 21], [21, 10, 21, 31], [31, 21, 10, 21], [21, 31, 21, 10]])
    return sheet.text()


def sub_numa():
    """Two Xeon Max 9480, each cut into four NUMA nodes with memory and four of HBM below one L3, and memory behind CXL."""
    sheet = Sheet("sub-NUMA clusters", 112, 17)
    for package in range(2):
        threads_of = [(c,) for c in range(package * 56, package * 56 + 56)]
        numbers = [package * 4 + part for part in range(4)]
        level(sheet, "Package", threads_of, mask(numbers + [n + 8 for n in numbers]), f'os_index="{package}" ')
        cache(sheet, threads_of, mask(numbers + [n + 8 for n in numbers]), 112)
        for part, number in enumerate(numbers):
            part_of, nodeset = threads_of[part * 14:part * 14 + 14], mask([number, number + 8])
            level(sheet, "Group", part_of, nodeset, 'kind="101" subkind="0" ')
            memory(sheet, number, flat(part_of), 32)
            memory(sheet, number + 8, flat(part_of), 16, "HBM")
            cores(sheet, part_of, nodeset)
            if part in (1, 2):
                base = 0x80 * package + 0x20 * part
                host(sheet, base, base + 0x1f)
                bridge(sheet, f"0000:{base:02x}:01.0", base + 1, base + 1, "8086:352a")
                gpu(sheet, base + 1, package * 2 + part - 1, "2331")
                sheet.close(2)
            sheet.close()
        sheet.close(2)
    sheet.add("NUMANode", f'os_index="16" subtype="CXL-DRAM" {sets("0x0", mask([16]), "complete_")} local_memory="{128 * GIB}"')

    def latency(a, b):
        if 16 in (a, b):
            return 10 if a == b else 24
        near = 10 if a == b else 13 if a % 8 == b % 8 else 12 if a % 8 // 4 == b % 8 // 4 else 21
        return near + (1 if max(a, b) > 7 and a != b and near > 12 else 0)

    sheet.latencies([[latency(a, b) for b in range(17)] for a in range(17)])
    return sheet.text()


def hybrid():
    """Core i9-13900K: eight fast cores of two threads, sixteen slow ones of one, one L3 for all."""
    sheet = Sheet("hybrid cores", 32, 1)
    fast, slow = [(2 * c, 2 * c + 1) for c in range(8)], [(c,) for c in range(16, 32)]
    level(sheet, "Package", fast + slow, mask([0]), 'os_index="0" ')
    memory(sheet, 0, range(32), 64)
    cache(sheet, fast + slow, mask([0]), 36)
    cores(sheet, fast + slow, mask([0]))
    sheet.close()
    host(sheet, 0, 0x0f)
    bridge(sheet, "0000:00:01.0", 1, 1, "8086:a70d")
    gpu(sheet, 1, 0, "2684", "0300")
    sheet.close(3)
    sheet.after += [f'  <cpukind cpuset="{mask(flat(slow))}"><info name="CoreType" value="IntelAtom"/></cpukind>',
                    f'  <cpukind cpuset="{mask(flat(fast))}"><info name="CoreType" value="IntelCore"/></cpukind>']
    return sheet.text()


def desktop():
    """Threadripper 3990X: sixteen L3 caches of four cores, one NUMA node, four A6000 of which two each have an NVLink bridge."""
    sheet = Sheet("big desktop", 128, 1)
    every = [(c, c + 64) for c in range(64)]
    level(sheet, "Package", every, mask([0]), 'os_index="0" ')
    memory(sheet, 0, range(128), 256)
    for first in range(0, 64, 4):
        cache(sheet, every[first:first + 4], mask([0]), 16)
        cores(sheet, every[first:first + 4], mask([0]))
        sheet.close()
    sheet.close()
    gpus = []
    for base, bus in ((0x00, 0x01), (0x20, 0x21), (0x40, 0x41), (0x60, 0x61)):
        host(sheet, base, base + 0x1f)
        bridge(sheet, f"0000:{base:02x}:03.1", bus, bus, "1022:1483")
        gpus.append(gpu(sheet, bus, len(gpus), "2230", "0300"))
        sheet.close(2)
    sheet.close()
    pairs = ((0, 2), (1, 3))
    sheet.nvlink(gpus, [[1000000 if i == j else 56250 if (min(i, j), max(i, j)) in pairs else 0 for j in range(4)] for i in range(4)])
    return sheet.text()


def nvswitch():
    """Four GPUs of twelve links each to six NVSwitches, of which each GPU sees its own ports."""
    sheet = Sheet("NVSwitch", 16, 1)
    every = [(c,) for c in range(16)]
    level(sheet, "Package", every, mask([0]), 'os_index="0" ')
    memory(sheet, 0, range(16), 64)
    cores(sheet, every, mask([0]))
    sheet.close()
    gpus, ports = [], []
    for base in (0x00, 0x20, 0x40, 0x60):
        host(sheet, base, base + 0x1f)
        gpus.append(gpu(sheet, base + 7, len(gpus), "20b0"))
        sheet.close()
    host(sheet, 0xc0, 0xdf)
    for bus in range(0xc4, 0xca):
        ports.append(sheet.add("PCIDev", f'pci_busid="0000:{bus:02x}:00.0" subtype="NVSwitch" pci_type="0680 [10de:1af1] [0000:0000] a1" pci_link_speed="0.000000"'))
    sheet.close(2)
    names = [f"OSDev:{g}" for g in gpus] + [f"PCIDev:{p}" for p in ports]
    rows = [[1000000 if i == j else 50000 if (i < 4) != (j < 4) else 0 for j in range(10)] for i in range(10)]
    sheet.matrix('<distances2hetero nbobjs="10" kind="25" name="NVLinkBandwidth">', names, rows)
    return sheet.text()


def main(arguments):
    here, stale = pathlib.Path(__file__).resolve().parent, []
    for write in (dgx_1, four_sockets, sub_numa, hybrid, desktop, nvswitch):
        file, text = here / f"{write.__name__}.xml", write()
        if arguments != ["--check"]:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            stale.append(file.name)
    print(f"not what machines.py writes: {', '.join(stale)}" if stale else "all machines are what machines.py writes")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
