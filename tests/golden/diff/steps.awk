# A trace of STEPS steps, as text for mktrace: in each GROWS samples of one function and three of
# another, and a kernel of GEMM ns, or another one where NAME says so; PROGRAM is what it is called.
function event(stream, thread, what)
{
	printf "   0.%09d %s   %s %s\n", at, stream, thread, what
	at += 10
}

BEGIN {
	main = "p1  101/101     "
	recorder = "p0  100/100     "
	printf "# made by steps.awk\n"
	at = 1
	event("s0", recorder, "note         key=\"cmd\" value=\"train\"")
	event("s1", main, "thread       tid=101 name=\"" PROGRAM "\"")
	event("s1", main, "process      pid=101 ppid=100 parent=0 exe=\"/usr/bin/" PROGRAM "\" cmdline=\"train\"")
	event("s1", main, "function     function=1 api=CUDA category=LAUNCH name=\"cuLaunchKernel\"")
	event("s1", main, "device       device=1 parent=0 type=GPU api=CUDA name=\"NVIDIA H200\" vendor=\"NVIDIA\" driver=\"CUDA 13.0\"")
	event("s1", main, "queue        queue=1 device=1 context=1 flags=0 handle=0x7")
	event("s1", main, "clock        clock=DEVICE device=1 mono_ns=1000000000030 foreign=1700000000000000030 uncertainty_ns=10")
	event("s1", main, "kernel       kernel=1 program=1 name=\"" NAME "\"")
	event("s1", main, "descriptor   descriptor=1 op=KERNEL queue=1 kernel=1 bytes=0 global_x=4096 global_y=1 global_z=1 local_x=256 local_y=1 local_z=1")
	event("s1", main, "stack        stack=1 stop=COMPLETE epoch=1 pcs=[0x100,0x1000,0x9000]")
	event("s1", main, "callpath     callpath=1 stack=1 py_stack=0")
	event("s1", main, "stack        stack=2 stop=COMPLETE epoch=1 pcs=[0x3000,0x9000]")
	event("s1", main, "callpath     callpath=2 stack=2 py_stack=0")
	event("s1", main, "stack        stack=3 stop=COMPLETE epoch=1 pcs=[0x2000,0x9000]")
	event("s1", main, "callpath     callpath=3 stack=3 py_stack=0")
	for (step = 1; step <= STEPS; step++) {
		at = step * 100000
		event("s1", main, "range        edge=PUSH color=0 range=0 domain=\"\" name=\"step " step "\"")
		event("s1", main, "call         callpath=1 correlation=" step " function=1 duration_ns=4")
		event("s1", main, "gpu_work     descriptor=1 correlation=" step " start_ns=1700000000" sprintf("%09d", at) " busy_ns=" GEMM " node=0")
		for (i = 0; i < GROWS; i++)
			event("s1", main, "sample       callpath=2 flags=0 weight_ns=1000")
		for (i = 0; i < 3; i++)
			event("s1", main, "sample       callpath=3 flags=0 weight_ns=1000")
		event("s1", main, "range        edge=POP color=0 range=0 domain=\"\" name=\"\"")
	}
	split("/usr/lib/libcuda.so /usr/bin/train cuLaunchKernel launch same grows main", texts, " ")
	split("0x100 0x1000 0x2000 0x3000 0x9000", addresses, " ")
	for (i = 1; i <= 7; i++)
		event("s0", recorder, "string       string=" i " text=\"" texts[i] "\"")
	for (i = 1; i <= 5; i++)
		event("s0", recorder, "symbol       process=1 address=" addresses[i] " epoch=0 module=" (i > 1) + 1 " offset=" addresses[i] " source=SYMTAB frames=[" i + 2 ",0,0]")
}
