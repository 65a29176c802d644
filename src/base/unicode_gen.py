#!/usr/bin/env python3
"""Writes unicode.h: what text.c must know of each code point. Run by hand: ./unicode_gen.py >unicode.h

The general categories and widths come from Python's unicodedata. Default_Ignorable_Code_Point is not in it: it is
Cf, the variation selectors and the code points of IGNORABLE (Other_Default_Ignorable_Code_Point of PropList.txt).
"""
import unicodedata

IGNORABLE = [
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x2065, 0x2065), (0x3164, 0x3164),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF),
    # variation selectors
    (0x180B, 0x180F), (0xFE00, 0xFE0F),
]
# Drawn as nothing or as a blank, though the categories call them symbols.
BLANK = {0x2800, 0x1D159}
# Vowels and final consonants of Hangul join the syllable before them.
JOINING = [(0x1160, 0x11FF), (0xD7B0, 0xD7FF)]


def within(code_point, ranges):
    return any(low <= code_point <= high for low, high in ranges)


def kind(code_point):
    char = chr(code_point)
    category = unicodedata.category(char)
    if code_point == 0x20:
        return None
    if category in ("Cf", "Zl", "Zp", "Zs", "Cc") or within(code_point, IGNORABLE) or code_point in BLANK:
        return "MISLEADING"
    if category in ("Cn", "Co", "Cs"):
        return "UNKNOWN"
    if category in ("Mn", "Me") or within(code_point, JOINING):
        return "ZERO"
    if unicodedata.east_asian_width(char) in "WF":
        return "WIDE"
    return None


def ranges():
    start, current = 0, kind(0)
    for code_point in range(1, 0x110001):
        following = kind(code_point) if code_point <= 0x10FFFF else "end"
        if following != current:
            if current:
                yield start, code_point - 1, current
            start, current = code_point, following


print("/* unicode.h: made by unicode_gen.py from Unicode %s; not to be edited. */" % unicodedata.unidata_version)
print("#ifndef HUTCH_BASE_UNICODE_H")
print("#define HUTCH_BASE_UNICODE_H")
print()
print("#include <stdint.h>")
print()
print('#define UNICODE_VERSION "%s"' % unicodedata.unidata_version)
print()
print("/* MISLEADING and UNKNOWN (unassigned, private, surrogate) are escaped; ZERO takes no column, WIDE two. */")
print("enum unicode_kind { UNICODE_PLAIN, UNICODE_MISLEADING, UNICODE_UNKNOWN, UNICODE_ZERO, UNICODE_WIDE };")
print()
print("struct unicode_range {")
print("    uint32_t first, last;")
print("    uint8_t kind;")
print("};")
print()
print("/* clang-format off */")
print("/* Sorted; what is in none of them is PLAIN. */")
print("static const struct unicode_range unicode_ranges[] = {")
rows = ["{ 0x%04X, 0x%04X, UNICODE_%s }," % row for row in ranges()]
for i in range(0, len(rows), 3):
    print("    " + " ".join(rows[i:i + 3]))
print("};")
print("/* clang-format on */")
print()
print("#endif")
