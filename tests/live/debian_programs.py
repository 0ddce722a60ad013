"""Programs that Debian ships, each with a few seconds of work to do: what test_debian.py and
tests/live/debian run under every sampler. None is written for us, and none knows of us.

A program's words may hold {work}, the folder with its data, and {port}, a free port of the loopback.
Servers serve until their load, which is bounded in requests and in time, has ended."""

import os
import random
import shutil
import subprocess

# Debian's own programs, whatever else is installed beside them.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

PROGRAMS = []


class Program:
    def __init__(self, name, words, packages="", prepare=None, load=None, env=None, same=True,
                 files=(), root_only=None, jit=False):
        """@prepare(work): makes what it needs, once. @files: (name, text) written before each run.
        @load(port): the words of what loads a server. @same: two runs write the same.
        @root_only: why an ordinary user cannot run it.
        @jit: compiles into memory, where perf has no names to compare with."""
        self.name, self.words, self.packages = name, words, packages.split()
        self.prepare, self.load, self.env, self.files = prepare, load, env or {}, files
        self.same, self.root_only, self.jit = same, root_only, jit

    def tool(self):
        """What has to be there: the first word, unless it is made by prepare()."""
        return self.words[0]

    def command(self, work, port):
        return [fill(word, work, port) for word in self.words]

    def write_files(self, work, port):
        for name, text in self.files:
            make(os.path.join(work, name), fill(text, work, port))


def fill(text, work, port):
    return text.replace("{work}", work).replace("{port}", str(port))


def program(name, words, *rest, **how):
    PROGRAMS.append(Program(name, words.split() if isinstance(words, str) else words, *rest, **how))


def find(tool):
    """The path of a tool of Debian's, or None."""
    return shutil.which(tool, path=PATH + ":" + ":".join(postgres_folders()))


def postgres_folders():
    root = "/usr/lib/postgresql"
    return [os.path.join(root, v, "bin") for v in sorted(os.listdir(root))] if os.path.isdir(root) else []


def make(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def must_run(*words, **how):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=240, check=False, **how)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(words), done.stdout.decode(errors="replace")[-600:]))


def make_data(work):
    """blob: 24 MB that compresses as text does; text: 40,000 lines of it."""
    chance = random.Random(1)
    words = ["".join(chance.choice("etaoinshrdlu") for _ in range(chance.randint(2, 11)))
             for _ in range(6000)]
    lines = [" ".join(chance.choices(words, k=12)) for _ in range(40000)]
    make(os.path.join(work, "text"), "\n".join(lines) + "\n")
    with open(os.path.join(work, "blob"), "w", encoding="utf-8") as file:
        for _ in range(8):
            chance.shuffle(lines)
            file.write("\n".join(lines) + "\n")
    make(os.path.join(work, "page"), "x" * 4096)


# --- compressors, cryptography, media

program("xz", "xz -T2 -0 -k -c {work}/blob", "xz-utils")
program("xz -T1", "xz -T1 -0 -k -c {work}/blob", "xz-utils")
program("zstd", "zstd -q -T2 -12 -c {work}/blob", "zstd")
program("pigz", "pigz -p2 -9 -k -c {work}/blob", "pigz")
program("bzip2", "bzip2 -k -c {work}/blob", "bzip2")
program("tar | gzip", ["tar", "-C", "{work}", "-czf", "-", "--mtime=@0", "blob"], "tar gzip")
program("openssl speed", "openssl speed -seconds 1 -bytes 16384 sha256 aes-256-cbc", "openssl", same=False)
program("ffmpeg", "ffmpeg -v error -nostdin -f lavfi -i testsrc=duration=45:size=640x360 -c:v mpeg4 "
        "-threads 2 -flags bitexact -f md5 -", "ffmpeg")

# --- compilers


def source_of(functions):
    body = "".join(
        "static double f%d(const double *a, int n)\n{\n\tdouble s = %d;\n"
        "\tfor (int i = 1; i < n; i++)\n\t\ts += a[i] * a[i - 1] > s ? a[i] / %d : a[i] * s;\n"
        "\treturn s;\n}\n" % (i, i, i + 2) for i in range(functions))
    calls = " + ".join("f%d(a, n)" % i for i in range(functions))
    return body + "double all(const double *a, int n)\n{\n\treturn %s;\n}\n" % calls


def make_sources(work):
    make(os.path.join(work, "big.c"), source_of(350))
    os.makedirs(os.path.join(work, "tree"), exist_ok=True)
    names = ["part%d" % i for i in range(8)]
    for name in names:
        make(os.path.join(work, "tree", name + ".c"), source_of(40))
    make(os.path.join(work, "tree/Makefile"),
         "all: %s\n%%.o: %%.c\n\t@gcc -O2 -c $< -o /dev/null\n" % " ".join(n + ".o" for n in names))


GO = """package main

import (
	"fmt"
	"sync"
)

func collatz(limit int) int {
	longest := 0
	for i := 1; i < limit; i++ {
		n, steps := i, 0
		for n != 1 {
			if n&1 == 0 {
				n >>= 1
			} else {
				n = 3*n + 1
			}
			steps++
		}
		if steps > longest {
			longest = steps
		}
	}
	return longest
}

func main() {
	var wait sync.WaitGroup
	found := make([]int, 2)
	for g := range found {
		wait.Add(1)
		go func(g int) {
			defer wait.Done()
			found[g] = collatz(2000000 + g)
		}(g)
	}
	wait.Wait()
	fmt.Println(found)
}
"""


def go_environment(work):
    return {"GOCACHE": os.path.join(work, "gocache"), "GOPATH": os.path.join(work, "gopath"),
            "GOFLAGS": "-mod=mod", "GO111MODULE": "off", "GOTOOLCHAIN": "local"}


def make_go(work):
    make(os.path.join(work, "collatz.go"), GO)
    must_run("go", "build", "-o", work + "/collatz", work + "/collatz.go", cwd=work,
             env=dict(os.environ, PATH=PATH, HOME=work, **go_environment(work)))


program("gcc", "gcc -O2 -S -o - {work}/big.c", "gcc libc6-dev", make_sources)
program("make -j2", "make -s -j2 -B -C {work}/tree", "make gcc libc6-dev", make_sources)
program("go build", "go build -a -o {work}/built {work}/collatz.go", "golang-go", make_go, env=go_environment)
program("go", "{work}/collatz", "golang-go", make_go)

# --- databases and servers

program("sqlite3", ["sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i + 1 from n "
                    "where i < 3000000) select count(*), sum(i * i % 7), max(hex(i)) from n;"], "sqlite3")


def load_redis(port):
    return ["redis-benchmark", "-p", str(port), "-q", "-n", "300000", "-c", "8", "-P", "4", "-t", "set,get,lpush"]


def load_http(requests):
    return lambda port: ["ab", "-q", "-r", "-t", "30", "-n", str(requests), "-c", "4",
                         "http://127.0.0.1:%d/page" % port]


NGINX = """daemon off; user nobody nogroup; pid {work}/nginx.pid; worker_processes 2; error_log stderr crit;
events {}
http {
	access_log off; client_body_temp_path {work}/nginx1; proxy_temp_path {work}/nginx2; fastcgi_temp_path {work}/nginx3;
	uwsgi_temp_path {work}/nginx4; scgi_temp_path {work}/nginx5;
	server { listen 127.0.0.1:{port}; root {work}; }
}
"""


def make_postgres(work):
    data = os.path.join(work, "postgres")
    if not os.path.isdir(data):
        own = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
        os.mkdir(data, 0o700)
        if own:
            shutil.chown(data, "nobody", "nogroup")
        must_run(*own, find("initdb"), "-D", data, "-A", "trust", "-U", "bench", "--no-sync", cwd="/",
                 env={"PATH": PATH, "HOME": "/tmp"})


def load_postgres(port):
    at = "-h 127.0.0.1 -p %d -U bench" % port
    return ["sh", "-c", "pgbench %s -i -q -s 2 postgres && pgbench %s -n -S -c 2 -t 20000 postgres" % (at, at)]


POSTGRES = ["postgres", "-D", "{work}/postgres", "-h", "127.0.0.1", "-p", "{port}", "-c", "fsync=off",
            "-c", "unix_socket_directories="]

program("redis", "redis-server --port {port} --bind 127.0.0.1 --save --appendonly no --dir {work}",
        "redis-server redis-tools", load=load_redis, same=False)
program("nginx", "nginx -e stderr -p {work} -c {work}/nginx.conf", "nginx-light apache2-utils",
        load=load_http(80000), files=[("nginx.conf", NGINX)], same=False)
program("http.server", "python3 -m http.server -b 127.0.0.1 -d {work} {port}", "python3 apache2-utils",
        load=load_http(4000), same=False)
program("postgres", POSTGRES, "postgresql", make_postgres, load_postgres, same=False)

# --- languages

NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const words = new Map();
for (let i = 0; i < 3000000; i++) { const k = 'w' + (i * 7919 % 50021); words.set(k, (words.get(k) || 0) + 1); }
const list = [...words].map(([k, v]) => ({ k, v })).sort((a, b) => b.v - a.v || (a.k < b.k ? -1 : 1));
console.log(fib(41), list.length, JSON.stringify(list).length);
"""
JAVA = """
public class Loop {
    static long collatz(int limit) {
        long longest = 0;
        for (int i = 1; i < limit; i++) {
            long n = i, steps = 0;
            while (n != 1) { n = (n & 1) == 0 ? n >> 1 : 3 * n + 1; steps++; }
            longest = Math.max(longest, steps);
        }
        return longest;
    }
    public static void main(String[] a) { System.out.println(collatz(5000000)); }
}
"""
PERL = ("my %n; for my $i (1..6000000) { my $k = 'w' . ($i * 7919 % 50021); $n{$k}++; } "
        "my $s = join ',', sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n; $s =~ s/(\\d)(?=\\d)/$1./g; print length $s, qq(\\n);")
RUBY = "def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)\nputs fib(33), (1..2_000_000).map { |i| (i * 7919 % 50021).to_s }.tally.size"
PHP = ("function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); } $n = []; "
       "for ($i = 0; $i < 12000000; $i++) { $k = 'w' . ($i * 7919 % 50021); $n[$k] = ($n[$k] ?? 0) + 1; } "
       "arsort($n); echo fib(34), ' ', count($n), PHP_EOL;")
LUA = ("local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end local t = {} "
       "for i = 1, 16e6 do local k = 'w' .. (i * 7919 % 50021) t[k] = (t[k] or 0) + 1 end print(fib(40))")
PY_PURE = """
def step(n):
    return n >> 1 if n % 2 == 0 else 3 * n + 1
def collatz(limit):
    longest = 0
    for i in range(1, limit):
        n = i
        steps = 0
        while n != 1:
            n = step(n)
            steps += 1
        longest = max(longest, steps)
    return longest
print(collatz(100000))
"""
PY_DEEP = """
import sys
sys.setrecursionlimit(5000)
def burn():
    return sum(i * i for i in range(3000))
def down(n):
    return burn() if n == 0 else down(n - 1)
print(sum(down(700) for _ in range(8000)))
"""
PY_THREADS = """
import hashlib, threading
data = b'x' * (1 << 20)
found = [None, None]
def work(k):
    h = hashlib.sha256()
    for _ in range(1200):
        h.update(data)
    found[k] = h.hexdigest()
threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]
print(found)
"""
PY_POOL = """
import multiprocessing
def work(n):
    return sum(i * i % 7 for i in range(n))
if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(work, range(100000, 100320), chunksize=5)))
        pool.close()
        pool.join()
"""


def make_java(work):
    if not os.path.exists(work + "/Loop.class"):
        make(work + "/Loop.java", JAVA)
        must_run("javac", "-d", work, work + "/Loop.java", env=dict(os.environ, PATH=PATH))


program("node", "node {work}/loop.js", "nodejs", files=[("loop.js", NODE)], jit=True)
program("node --perf-basic-prof", "node --perf-basic-prof {work}/loop.js", "nodejs", files=[("loop.js", NODE)])
program("java", "java -cp {work} Loop", "default-jdk-headless", make_java, jit=True)
program("java with its option", "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp {work} Loop",
        "default-jdk-headless", make_java, jit=True)
program("perl", ["perl", "-e", PERL], "perl")
program("ruby", ["ruby", "-e", RUBY], "ruby")
program("php", ["php", "-r", PHP], "php-cli")
program("luajit", ["luajit", "-e", LUA], "luajit", jit=True)
program("python", "python3 {work}/pure.py", "python3", files=[("pure.py", PY_PURE)])
program("python 700 deep", "python3 {work}/deep.py", "python3", files=[("deep.py", PY_DEEP)])
program("python threads", "python3 {work}/threads.py", "python3", files=[("threads.py", PY_THREADS)])
program("python processes", "python3 {work}/pool.py", "python3", files=[("pool.py", PY_POOL)])

# --- tools

SHORT_THREADS = """#include <pthread.h>
static volatile unsigned sink;
static void *work(void *unused)
{
	for (unsigned i = 0; i < 2500000; i++)
		sink += i;
	return unused;
}
int main(void)
{
	pthread_t threads[2];
	for (int n = 0; n < 300; n++) {
		for (int i = 0; i < 2; i++)
			pthread_create(threads + i, 0, work, 0);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], 0);
	}
}
"""
SPIN = """#include <stdio.h>
static unsigned mix(unsigned n) { return n * 2654435761u ^ n >> 13; }
__attribute__((noinline)) static unsigned light(unsigned n) { for (unsigned i = 0; i < 400000000; i++) n = mix(n + i); return n; }
__attribute__((noinline)) static unsigned heavy(unsigned n) { for (unsigned i = 0; i < 1200000000; i++) n = mix(n ^ i); return n; }
int main(void) { printf("%u %u\\n", light(1), heavy(2)); }
"""


def make_c(name, text, *options):
    def build(work):
        if not os.path.exists("%s/%s" % (work, name)):
            make("%s/%s.c" % (work, name), text)
            must_run("gcc", "-O2", "-o", "%s/%s" % (work, name), "%s/%s.c" % (work, name), *options)
    return build


def make_repository(work):
    repository = work + "/repository"
    if os.path.isdir(repository):
        return
    env = {"PATH": PATH, "HOME": work, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "@0 +0000",
           "GIT_COMMITTER_DATE": "@0 +0000"}
    git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "gc.auto=0"]
    must_run("git", "init", "-q", repository, env=env)
    with open(work + "/text", encoding="utf-8") as file:
        lines = file.read().splitlines()[:12000]
    chance = random.Random(2)
    for number in range(120):
        for _ in range(60):
            lines[chance.randrange(len(lines))] = "line %d" % number
        make(repository + "/text", "\n".join(lines))
        must_run(*git, "add", "text", env=env)
        must_run(*git, "commit", "-q", "-m", str(number), env=env)


HASH = "sha256sum" + " {work}/blob" * 12

program("ripgrep", ["rg", "-j2", "--no-filename", "-c", "([a-z]+s) [a-z]*(ee|oo)[a-z]* .*\\b(the|her|his)[a-z]+ [aeiou]"]
        + ["{work}/blob"] * 20, "ripgrep", same=False)
program("sort", "sort --parallel=2 -S 200M" + " {work}/blob" * 4, "coreutils")
program("find", "find" + " /usr" * 5 + " -name no-such-file", "findutils")
program("git gc", "git -C {work}/repository gc --aggressive -q", "git", make_repository,
        env=lambda work: {"HOME": work, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"})
program("sha256sum", HASH, "coreutils")
program("dd", "dd if=/dev/zero of=/dev/null bs=256 count=4000000 status=none", "coreutils")
program("bash", ["bash", "-c", "for ((i = 0; i < 400000; i++)); do x=$((x + i % 7)); y=${x%1}; done; echo $x"], "bash")
program("bash: 400 children", ["bash", "-c", "for ((i = 0; i < 400; i++)); do /bin/true; done"], "bash")
program("short threads", "{work}/short_threads", "gcc libc6-dev", make_c("short_threads", SHORT_THREADS, "-pthread"))
program("static", "{work}/static", "gcc libc6-dev", make_c("static", SPIN, "-static"))
program("static stripped", "busybox sha256sum" + " {work}/blob" * 12, "busybox-static")
program("stripped", "{work}/stripped", "gcc libc6-dev", make_c("stripped", SPIN, "-s"))
program("sudo", "sudo -n -u nobody " + HASH, "sudo", root_only="sudo -n asks for a password")
program("su", ["su", "-s", "/bin/sh", "nobody", "-c", HASH], "util-linux", root_only="su asks for a password")
program("setpriv", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "perl", "-e", PERL], "util-linux",
        root_only="setpriv needs root to change the user")
