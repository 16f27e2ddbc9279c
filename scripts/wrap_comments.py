#!/usr/bin/env python3
"""wrap_comments.py FILE...: wraps comment lines beyond 100 columns, which clang-format leaves alone here because it does not
know lists from sentences. Words that do not fit go to the next line of the paragraph. A comment behind code is left as it is.
"""
import re
import sys

COLUMNS = 100
# Indentation; the comment's own mark; further indentation; the mark of a list item; the text.
LINE = re.compile(r"^(\s*)(/\*\*? |\* )(\s*)((?:\d+\.|-)\s+)?(\S.*)$")
RULER = re.compile(r"^\s*/\* -+ .* -+ \*/$")


def split(line):
    """The part of the line that fits, and the rest."""
    cut = line.rfind(" ", 0, COLUMNS + 1)
    return line[:cut].rstrip(), line[cut + 1:]


def goes_on(line, prefix):
    """Whether the line continues the paragraph of which a line with this prefix would be part."""
    match = LINE.match(line)
    return bool(match) and match[2] == "* " and not match[4] and match[1] + match[2] + match[3] == prefix


def wrap(lines):
    done, lines = [], list(reversed(lines))
    while lines:
        line = lines.pop()
        match = LINE.match(line)
        if len(line) <= COLUMNS or not match or " " not in match[5][:COLUMNS - match.start(5)]:
            done.append(line)
        elif RULER.match(line):
            surplus = len(line) - COLUMNS
            done.append(re.sub("-" * surplus + r" \*/$", " */", line))
        else:
            opens = match[2] != "* "
            prefix = match[1] + (" * " if opens else "* " + match[3] + " " * len(match[4] or ""))
            fits, rest = split(line)
            done.append(fits)
            if lines and "*/" not in rest and goes_on(lines[-1], prefix):
                rest += " " + LINE.match(lines.pop())[5]
            lines.append(prefix + rest)
    return done


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        wrapped = "\n".join(wrap(text.split("\n")))
        if wrapped != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wrapped)


main()
