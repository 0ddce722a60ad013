#include "inject/cuda/autograd.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "inject/core/inject.h"

enum autograd_state { AUTOGRAD_OFF, AUTOGRAD_WANTED, AUTOGRAD_QUEUED };

static _Atomic uint32_t state;

/* Functions of the Python in this process; unchanged since 3.2. */
static struct {
	int (*AddPendingCall)(int (*call)(void *), void *arg);
	void *(*DictNew)(void);
	void *(*DictGet)(void *dict, const char *key);
	void *(*RunString)(const char *text, int start, void *globals, void *locals);
	const char *(*Text)(void *unicode);
	void (*ErrClear)(void);
	void (*DecRef)(void *object);
} py;

enum { PY_FILE_INPUT = 257 };

/*
 * Without `answer` it is too early: while torch is being imported it has not all of its
 * attributes. emit_nvtx() waits for the device, which would break a capture of a graph that is
 * under way. PyTorch warns of one that is not left before the program ends. What is no Exception,
 * as a KeyboardInterrupt of the program's own handler, is left to the program.
 */
static const char program[] =
    "try:\n"
    "    import sys\n"
    "    torch = sys.modules.get('torch')\n"
    "    ready = torch is not None and torch.cuda.is_initialized() and \\\n"
    "        not torch.cuda.is_current_stream_capturing()\n"
    "except Exception:\n"
    "    ready = False\n"
    "if ready:\n"
    "    try:\n"
    "        emit = torch.autograd.profiler.emit_nvtx()\n"
    "        emit.__enter__()\n"
    "        import atexit\n"
    "        atexit.register(emit.__exit__, None, None, None)\n"
    "        answer = 'on, by emit_nvtx() of PyTorch ' + str(torch.__version__)\n"
    "    except Exception as error:\n"
    "        answer = 'not recorded: emit_nvtx() raised %s: %s' % (type(error).__name__, error)\n";

static void say(void *answer)
{
	const char *text = py.Text(answer);
	char words[512];

	if (!text)
		py.ErrClear();
	snprintf(words, sizeof words, "%s", text ? text : "not recorded: no answer from PyTorch");
	af_inject_note("autograd", words);
}

/* On the main thread, which holds the GIL. 0, or -1 with the program's own exception. */
static int ask(void *arg)
{
	void *globals = py.DictNew();
	void *done = globals ? py.RunString(program, PY_FILE_INPUT, globals, globals) : NULL;
	void *answer = done ? py.DictGet(globals, "answer") : NULL;
	(void)arg;

	if (!globals) {
		py.ErrClear();
		return 0;
	}
	if (answer)
		say(answer);
	else
		py.DecRef(globals); /* else what was entered stays alive */
	atomic_store(&state, answer ? AUTOGRAD_OFF : AUTOGRAD_WANTED);
	if (!done)
		return -1;
	py.DecRef(done);
	return 0;
}

void af_autograd_poll(void)
{
	uint32_t wanted = AUTOGRAD_WANTED;

	if (!atomic_compare_exchange_strong(&state, &wanted, AUTOGRAD_QUEUED))
		return;
	if (py.AddPendingCall(ask, NULL))
		atomic_store(&state, AUTOGRAD_WANTED); /* too many wait already */
}

void af_autograd_start(void)
{
	const struct {
		void *at;
		const char *name;
	} wanted[] = {
	    {&py.AddPendingCall, "Py_AddPendingCall"},
	    {&py.DictNew, "PyDict_New"},
	    {&py.DictGet, "PyDict_GetItemString"},
	    {&py.RunString, "PyRun_String"},
	    {&py.Text, "PyUnicode_AsUTF8"},
	    {&py.ErrClear, "PyErr_Clear"},
	    {&py.DecRef, "Py_DecRef"},
	};
	const struct af_session *session = af_inject_session();

	if (!session || !(session->flags & AF_SESSION_AUTOGRAD))
		return;
	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *found = dlsym(RTLD_DEFAULT, wanted[i].name);
		if (!found) {
			af_inject_note("autograd", "not recorded: no Python in the process");
			return;
		}
		*(void **)wanted[i].at = found;
	}
	atomic_store(&state, AUTOGRAD_WANTED);
}

void af_autograd_end(void)
{
	if (atomic_exchange(&state, AUTOGRAD_OFF) != AUTOGRAD_OFF)
		af_inject_note("autograd",
		               "not recorded: PyTorch never started CUDA, or its main thread "
		               "ran no Python from then on");
}
