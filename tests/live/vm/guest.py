"""The guest: its kernel and modules, the first program, and a command that is run in it."""

import hashlib
import lzma
import os
import shutil
import struct
import subprocess
import tempfile

CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # before tests choose their own
HERE = os.path.dirname(os.path.abspath(__file__))
# Without them, the host's files cannot be seen. What comes after is loaded from there.
FIRST = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
STANDIN = {
    "xe": ["xe_standin.c", "xe_standin_stall.c", "xe_standin_work.c", "xe_standin_buffer.c"],
    "i915": ["i915_standin.c", "i915_standin_buffer.c"],
}
HEADERS = ["xe_standin.h", "xe_uapi.h", "i915_standin.h", "i915_standin_trace.h"]


class Missing(Exception):
    """The guest cannot be had here, for the reason that it names."""


def call(*words, **options):
    """The output of a command that must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(words), done.stdout.decode(errors="replace")[-2000:]))
    return done.stdout


def kernel_root():
    """The folder with the unpacked kernel, fetched once."""
    env = dict(os.environ, XDG_CACHE_HOME=CACHE)
    done = subprocess.run([HERE + "/packages"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode == 77:
        raise Missing(done.stderr.decode(errors="replace").strip().splitlines()[-1])
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout.decode().strip()


def payload(image):
    """The kernel inside a compressed image (Documentation/x86/boot.rst: setup_sects, payload_offset)."""
    setup = (image[0x1F1] or 4) * 512 + 512
    offset, length = struct.unpack_from("<II", image, 0x248)
    return lzma.decompress(image[setup + offset : setup + offset + length - 4])


class Kernel:
    """The kernel, its modules, and the stand-in that is built for it."""

    def __init__(self):
        self.root = kernel_root()
        (self.release,) = os.listdir(self.root + "/lib/modules")
        self.image = "%s/boot/vmlinuz-%s" % (self.root, self.release)
        self.files = {}
        for folder, _, names in os.walk("%s/lib/modules/%s/kernel" % (self.root, self.release)):
            for name in names:
                if name.endswith(".ko"):
                    self.files[name[:-3].replace("-", "_")] = os.path.join(folder, name)
        with open("%s/lib/modules/%s/modules.builtin" % (self.root, self.release), encoding="ascii") as lines:
            self.builtin = {os.path.basename(line.strip())[:-3].replace("-", "_") for line in lines}

    def needs(self, file):
        with open(file, "rb") as data:
            depends = data.read().partition(b"\0depends=")[2].partition(b"\0")[0].decode()
        return [name.replace("-", "_") for name in depends.split(",") if name]

    def with_needs(self, names, have=()):
        """Files of the modules @names and of all that they need, in the order in which they load."""
        order = list(have)

        def add(name):
            if name in self.builtin or self.files[name] in order:
                return
            for other in self.needs(self.files[name]):
                add(other)
            order.append(self.files[name])

        for name in names:
            add(name)
        return order[len(have) :]

    def standin(self):
        """The folder with xe.ko and i915.ko, stand-ins with their BTF: built once for these sources and this kernel."""
        sources = [os.path.join(HERE, name) for name in sum(STANDIN.values(), HEADERS)]
        digest = hashlib.sha256(self.release.encode())
        for source in sources + [os.path.abspath(__file__)]:
            with open(source, "rb") as data:
                digest.update(data.read())
        built = os.path.join(os.path.dirname(self.root), "guest-module-%s" % digest.hexdigest()[:16])
        if not os.path.exists(built + "/xe.ko"):
            work = tempfile.mkdtemp(dir=os.path.dirname(self.root), prefix="guest-module.")
            try:
                self.build(sources, work)
                os.rename(work, built)
            except OSError:
                if not os.path.exists(built + "/xe.ko"):
                    raise
            finally:
                shutil.rmtree(work, ignore_errors=True)
        self.files["xe"] = built + "/xe.ko"
        return built

    def build(self, sources, work):
        for source in sources:
            shutil.copy(source, work)
        with open(work + "/Kbuild", "w", encoding="ascii") as file:
            for module, names in STANDIN.items():
                objects = " ".join(name[:-2] + ".o" for name in names)
                file.write("obj-m += %s.o\n%s-y := %s\n" % (module, module, objects))
            file.write("CFLAGS_i915_standin.o := -I$(src)\n")  # the trace point's header includes itself
        call("make", "-s", "-C", "%s/lib/modules/%s/build" % (self.root, self.release), "M=" + work, "modules")
        self.add_btf(work)

    def add_btf(self, work):
        with open(self.image, "rb") as image, open(work + "/vmlinux", "wb") as file:
            file.write(payload(image.read()))
        for module in STANDIN:
            call(self.root + "/usr/bin/pahole", "-J", "--btf_base", work + "/vmlinux", "%s/%s.ko" % (work, module))
        os.unlink(work + "/vmlinux")


def cpio(entries):
    """An archive of the form newc: (name, mode, bytes) each."""
    out = bytearray()
    for number, (name, mode, data) in enumerate(entries + [("TRAILER!!!", 0, b"")], 1):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return bytes(out)


def first_files(kernel, work, modules):
    """The archive from which the guest starts: the first program, and modules in their order."""
    call("gcc", "-static", "-O1", "-Wall", "-Werror", "-o", work + "/init", HERE + "/init.c")
    entries = [("modules", 0o40755, b""), ("host", 0o40755, b"")]
    first = kernel.with_needs(FIRST)
    for at, file in enumerate(first):
        with open(file, "rb") as data:
            entries.append(("modules/%d" % at, 0o100644, data.read()))
    entries.append(("modules/list", 0o100644, "".join("/modules/%d\n" % at for at in range(len(first))).encode()))
    with open(work + "/init", "rb") as data:
        entries.append(("init", 0o100755, data.read()))
    with open(work + "/initrd", "wb") as file:
        file.write(cpio(entries))
    with open(work + "/modules", "w", encoding="ascii") as file:
        file.write("".join(path + "\n" for path in kernel.with_needs(modules, first)))


def boot(command, out, modules=(), seconds=780, cards=2):
    """
    Runs @command, lines for sh, as root in a guest that sees this machine's files, none of which it can change but
    those in the folder @out. $OUT/modules lists the files of @modules in their order, and $OUT/standin has the folder
    of all stand-ins. Returns the exit status; None: it did not end within @seconds. $OUT/console has the kernel's
    messages.
    """
    qemu = shutil.which("qemu-system-x86_64")
    if not qemu:
        raise Missing("qemu-system-x86_64 is not installed")
    kernel = Kernel()
    out = os.path.realpath(out)
    with open(out + "/standin", "w", encoding="utf-8") as file:
        file.write(kernel.standin())
    first_files(kernel, out, modules)
    with open(out + "/command", "w", encoding="utf-8") as file:
        file.write(command)
    share = "local,path=%s,mount_tag=%s,security_model=none,multidevs=remap"
    words = [qemu, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048", "-nodefaults", "-no-reboot"]
    words += ["-display", "none", "-serial", "file:%s/console" % out, "-kernel", kernel.image, "-initrd", out + "/initrd"]
    words += ["-virtfs", share % ("/", "host") + ",readonly=on", "-virtfs", share % (out, "out")]
    words += ["-device", "pci-testdev"] * cards + ["-device", "edu"]
    words += ["-append", "console=ttyS0 quiet loglevel=5 panic=-1 OUT=%s" % out]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        try:
            printed = guest.communicate(timeout=seconds)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            guest.kill()
            return None
    if guest.returncode:
        raise RuntimeError("qemu: " + printed)
    with open(out + "/status", encoding="ascii") as file:
        return int(file.read())
