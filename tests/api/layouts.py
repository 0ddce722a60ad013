"""Facts of a model that the C compiler can decide, given the vendor's headers: sizes, offsets of
members, values of names, numbers of callbacks, and the structs of arguments of generated code."""

import os
import re
import subprocess


class Model:
    """NAME.api, read without aflame's own reader."""

    def __init__(self, path):
        self.types, self.functions = {}, {}
        item = None
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if not words or words[0] in ("#", "api", "source"):
                    continue
                if line[0] == "\t":
                    item.append(words)
                elif words[0] == "type":
                    item = []
                    self.types[words[1]] = (words[2:], item)
                elif words[0] == "fn":
                    item = []
                    self.functions[words[2]] = (int(words[1]), item)


class Facts:
    """Assertions in C, and the program that decides them."""

    def __init__(self):
        self.lines = []

    def add(self, expression, text):
        self.lines.append('_Static_assert(%s, "%s");' % (expression, text))

    def decide(self, folder, before, flags):
        """What is false, as lines."""
        path = os.path.join(folder, "facts.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + "\n" + "\n".join(self.lines) + "\n")
        words = ["cc", "-w", "-fsyntax-only", "-fmax-errors=0", *flags, path]
        done = subprocess.run(words, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        lines = [line.split("error: ", 1)[1] for line in done.stderr.splitlines() if "error: " in line]
        return [line for line in lines if "is not an integer" not in line]


def c_name(headers, name):
    """How C calls the model's type; None: the headers have none of that name."""
    if name in headers.typedefs:
        return name
    for tag in ("struct", "union", "enum"):
        if any(n["kind"] in ("RecordDecl", "EnumDecl") and n.get("name") == name
               and n.get("tagUsed", "enum") == tag for n in headers.nodes):
            return "%s %s" % (tag, name)
    return None


def struct_facts(facts, name, words, members):
    facts.add("sizeof(%s) == %s" % (name, words[1]), "size of %s" % name)
    facts.add("_Alignof(%s) == %s" % (name, words[2]), "alignment of %s" % name)
    for m in members:
        if not m[1].endswith("_or"):  # a union without a name
            facts.add("offsetof(%s, %s) == %s" % (name, m[1], m[0]), "offset of %s.%s" % (name, m[1]))


def value_facts(facts, values):
    for value, name in values:
        number = int(value, 0) & (2**64 - 1)
        facts.add(
            "(unsigned long long)(%s) == %dull || (unsigned)(%s) == %dull" % (name, number, name, number),
            "value of %s" % name,
        )


def model_facts(facts, headers, model):
    for name, (words, lines) in model.types.items():
        known = c_name(headers, name)
        if words[0] in ("enum", "flags"):
            value_facts(facts, [m[:2] for m in lines])
            if known:
                size = {"8": 1, "16": 2, "32": 4, "64": 8}[words[1][1:]]
                facts.add("sizeof(%s) == %d" % (known, size), "size of %s" % known)
        elif known and words[0] == "struct":
            struct_facts(facts, known, words, lines)
        elif known and re.fullmatch(r"[iux]\d+|f\d+", words[0]):
            facts.add("sizeof(%s) == %d" % (known, int(words[0][1:]) // 8), "size of %s" % known)


def args_text(path):
    """The structs of arguments that the generator made, and those that they are of."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"^struct (?:args_\d+|af_api_bytes_\w+) \{.*?^\};$", text, re.M | re.S)
    return "#include <stdint.h>\n#include <stddef.h>\n" + "\n".join(found)


def args_facts(facts, model, functions, bare):
    """Our structs of arguments against the vendor's, of each callback."""
    for f in functions:
        if not f.params:
            continue
        number = model.functions[bare(f.name)][0]
        facts.add(
            "sizeof(struct args_%d) == sizeof(%s_params)" % (number, f.name), "arguments of %s" % f.name
        )
        for i, p in enumerate(f.params):
            facts.add(
                "offsetof(struct args_%d, a%d) == offsetof(%s_params, %s)" % (number, i, f.name, p.name),
                "%s of %s" % (p.name, f.name),
            )



def ids_facts(facts, path, prefix, names, bare):
    """Numbers of callbacks: @names are the vendor's, which may end with a version."""
    with open(path, encoding="utf-8") as file:
        ids = {int(line.split()[0]): line.split()[1] for line in file if line[0] != "#"}
    facts.lines.append("enum { NR_IDS = %d };" % len(ids))
    for name in names:
        ours = [n for n in ids if ids[n] in (name, bare(name))]
        choice = " || ".join("%s%s == %d" % (prefix, name, n) for n in ours) or "0"
        facts.add(choice, "number of the callback %s" % name)
