"""What a vendor's headers declare, by the C compiler's own syntax tree (clang -ast-dump=json).

Nothing here knows aflame's models: a mock and a caller that were made from a model would share its
mistakes.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import tempfile

# type: as the header writes it; canon: without typedefs. For a pointer, pointee: "function",
# "void", "handle" (an incomplete struct), "pointer", "char", "struct", "integer", "real".
Param = collections.namedtuple("Param", "name type canon pointee is_const")
Function = collections.namedtuple("Function", "name result params")


def clang():
    """The newest clang here, or None."""
    names = ["clang"] + ["clang-%d" % n for n in range(22, 11, -1)]
    return next((path for path in map(shutil.which, names) if path), None)


class Headers:
    """The declarations of one C source text."""

    def __init__(self, source, flags=()):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
            file.write(source)
            file.flush()
            words = [clang(), "-fsyntax-only", "-Xclang", "-ast-dump=json", *flags, file.name]
            done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
        self.nodes = json.loads(done.stdout)["inner"]
        self.typedefs, self.complete, self.records = {}, set(), {}
        ids = {}
        for node in self.nodes:
            if node["kind"] == "TypedefDecl":
                self.typedefs[node["name"]] = node["type"]["qualType"]
                self._name_record(node, ids)
            elif node["kind"] == "RecordDecl" and node.get("completeDefinition"):
                ids[node["id"]] = node
                if node.get("name"):
                    self._add_record("%s %s" % (node["tagUsed"], node["name"]), node)

    def _add_record(self, name, node):
        self.complete.add(name)
        self.records[name] = node

    def _name_record(self, node, ids):
        """A struct that only a typedef names."""
        for inner in node.get("inner", []):
            tag = inner.get("ownedTagDecl") or inner.get("decl") or {}
            for deeper in inner.get("inner", []):
                tag = tag or deeper.get("decl") or {}
            if tag.get("id") in ids:
                self._add_record(node["name"], ids[tag["id"]])
                self._add_record(node["type"]["qualType"], ids[tag["id"]])  # as clang calls it

    def canon(self, text):
        """The type without typedefs: of pointers to functions, that they are some."""
        text = text.strip()
        if "(" in text:
            return text
        stars = ""
        while text.endswith(("*", "const")):
            end = "*" if text.endswith("*") else " const"
            text, stars = text[: -len(end.strip())].strip(), end + stars
        words = text.split()
        const = "const" in words
        bare = " ".join(w for w in words if w not in ("const", "volatile"))
        if bare in self.complete and bare not in self.typedefs:
            inner = bare
        elif bare in self.typedefs and self.typedefs[bare] != bare:
            inner = self.canon(self.typedefs[bare])
        else:
            inner = bare
        if const:
            inner = inner + " const" if inner.endswith("*") else "const " + inner
        return inner + stars

    def param(self, name, text):
        if re.search(r"\(\*\)\[\d+\]$", text):  # to arrays
            return Param(name, text, text, "array", False)
        text = re.sub(r"\[\d*\]$", "*", text)
        canon = self.canon(text)
        return Param(name, text, canon, *self._pointee(canon))

    def _pointee(self, canon):
        if "(" in canon:
            return "function", True
        canon = re.sub(r"( ?const)+$", "", canon)
        if not canon.endswith("*"):
            return None, False
        inner = canon[:-1].strip()
        is_const = inner.endswith("const") or ("*" not in inner and inner.startswith("const "))
        bare = re.sub(r"\b(const|volatile)\b ?", "", inner).strip()
        if "(" in bare:
            return "function", True
        if bare.endswith("*"):
            target = bare[:-1].strip()
            if target == "char":
                return "strings", is_const
            is_handle = target.split()[0] in ("struct", "union") and target not in self.complete
            return "handles" if is_handle else "pointers", is_const
        if bare in ("void", "char"):
            return bare, is_const
        if bare in ("float", "double"):
            return "real", is_const
        if bare in self.complete:
            return "struct", is_const
        if bare.split()[0] in ("struct", "union"):
            return "handle", is_const
        return "integer", is_const

    def functions(self, pattern):
        """Those that the headers declare, in their order."""
        found = {}
        for node in self.nodes:
            if node["kind"] != "FunctionDecl" or not re.fullmatch(pattern, node["name"]):
                continue
            inner = [n for n in node.get("inner", []) if n["kind"] == "ParmVarDecl"]
            params = [
                self.param(n.get("name", "a%d" % i), n["type"]["qualType"])
                for i, n in enumerate(inner)
            ]
            result = node["type"]["qualType"].split("(", 1)[0].strip()
            found[node["name"]] = Function(node["name"], result, params)
        return list(found.values())

    def members(self, record):
        """The fields of a struct, as parameters."""
        fields = [n for n in self.records[record].get("inner", []) if n["kind"] == "FieldDecl"]
        return [self.param(n["name"], n["type"]["qualType"]) for n in fields if n.get("name")]

    def enums(self):
        """Names of all enumerators."""
        for node in self.nodes:
            if node["kind"] == "EnumDecl":
                for inner in node.get("inner", []):
                    if inner["kind"] == "EnumConstantDecl":
                        yield inner["name"]


def include_folder(header, folders):
    """The first of @folders that has @header, or None."""
    return next((f for f in folders if os.path.exists(os.path.join(f, header))), None)
