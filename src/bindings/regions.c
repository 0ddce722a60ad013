/*
 * aflame._regions: regions and marks for Python (docs/regions.md), over aflame/region.h. It has the
 * stable ABI: one file for CPython 3.8 and later. Each function that it calls is in 3.8, although
 * the headers declare METH_FASTCALL and PyUnicode_AsUTF8AndSize() as stable from 3.10 on only.
 *
 * Without a recorder region() hands out one object that does nothing, so that a region costs no
 * allocation, and a decorated function stays what it was.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include "aflame/region.h"

struct region {
	PyObject_HEAD PyObject *name; /* str, or bytes of one that is no UTF-8 */
	const char *text;             /* its bytes */
	PyObject *started;            /* list of ids: of `async with` */
};

static PyObject *region_type, *nothing; /* nothing: the region without a recorder */

static PyObject *new_reference(PyObject *o)
{
	Py_INCREF(o);
	return o;
}

static PyObject *none(void)
{
	return new_reference(Py_None);
}

/*
 * The bytes of @name, a str, and in @keep their owner: a new reference. NULL with an exception.
 */
static const char *text_of(PyObject *name, PyObject **keep)
{
	const char *text = PyUnicode_AsUTF8AndSize(name, NULL);

	if (text) {
		*keep = new_reference(name);
		return text;
	}
	/* Half a surrogate pair, for one. */
	PyErr_Clear();
	*keep = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
	return *keep ? PyBytes_AsString(*keep) : NULL;
}

static PyObject *refuse(const char *what, PyObject *arg)
{
	return PyErr_Format(PyExc_TypeError, "%s, not %R", what, (PyObject *)Py_TYPE(arg));
}

/* functions of aflame._decorate, which is Python's */
static PyObject *decorate(const char *how, PyObject *name, PyObject *function)
{
	PyObject *module = PyImport_ImportModule("aflame._decorate");
	PyObject *result = module ? PyObject_CallMethod(module, how, "OO", name, function) : NULL;

	Py_XDECREF(module);
	return result;
}

/*
 * --- the region without a recorder, which is an awaitable that is done, too. There is one, so its
 * functions need no self: they are no methods in its type, and a `with` does not bind them first.
 * With self and without (type(r).__enter__(r), as ExitStack calls it) they do the same.
 */

static PyObject *nothing_itself(PyObject *Py_UNUSED(module), PyObject *const *Py_UNUSED(args),
                                Py_ssize_t Py_UNUSED(nr))
{
	return new_reference(nothing);
}

static PyObject *nothing_exit(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args),
                              Py_ssize_t Py_UNUSED(nr))
{
	return none();
}

static PyObject *nothing_await(PyObject *Py_UNUSED(self))
{
	PyObject *empty = PyTuple_New(0);
	PyObject *done = empty ? PyObject_GetIter(empty) : NULL;

	Py_XDECREF(empty);
	return done;
}

static PyObject *nothing_call(PyObject *Py_UNUSED(self), PyObject *args, PyObject *Py_UNUSED(named))
{
	PyObject *function;

	if (!PyArg_ParseTuple(args, "O:region", &function))
		return NULL;
	return new_reference(function);
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef nothing_functions[] = {
    {"__enter__", FAST(nothing_itself), METH_FASTCALL, NULL},
    {"__exit__", FAST(nothing_exit), METH_FASTCALL, NULL},
    {"__aenter__", FAST(nothing_itself), METH_FASTCALL, NULL},
    {"__aexit__", FAST(nothing_itself), METH_FASTCALL, NULL},
    {0},
};
static PyType_Slot nothing_slots[] = {
    {Py_tp_call, (void *)nothing_call},
    {Py_am_await, (void *)nothing_await},
    {0},
};
static PyType_Spec nothing_spec = {
    .name = "aflame._regions.nothing",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = nothing_slots,
};

static PyObject *nothing_new(void)
{
	PyObject *type = PyType_FromSpec(&nothing_spec);
	PyObject *object = NULL;
	int rc = type ? 0 : -1;

	for (PyMethodDef *f = nothing_functions; f->ml_name && !rc; f++) {
		/* In parentheses it is the function, and no macro of one that 3.8 lacks. */
		PyObject *function = (PyCFunction_NewEx)(f, NULL, NULL);
		rc = function ? PyObject_SetAttrString(type, f->ml_name, function) : -1;
		Py_XDECREF(function);
	}
	if (!rc)
		object = PyObject_CallObject(type, NULL);
	Py_XDECREF(type);
	return object;
}

/* --- a region */

static void region_free(PyObject *self)
{
	struct region *r = (struct region *)self;
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(r->name);
	Py_XDECREF(r->started);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *region_enter(PyObject *self, PyObject *Py_UNUSED(none))
{
	aflame_region_begin(((struct region *)self)->text);
	return new_reference(self);
}

static PyObject *region_exit(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args),
                             Py_ssize_t Py_UNUSED(nr))
{
	aflame_region_end();
	return none();
}

/* Across an `await` other tasks run on the thread, so these regions belong to no thread. */
static PyObject *region_aenter(PyObject *self, PyObject *Py_UNUSED(none))
{
	struct region *r = (struct region *)self;

	if (!r->started)
		r->started = PyList_New(0);
	PyObject *id =
	    r->started ? PyLong_FromUnsignedLongLong(aflame_region_start(r->text)) : NULL;
	int rc = id ? PyList_Append(r->started, id) : -1;
	Py_XDECREF(id);
	return rc ? NULL : new_reference(nothing);
}

static PyObject *region_aexit(PyObject *self, PyObject *Py_UNUSED(args))
{
	PyObject *started = ((struct region *)self)->started;
	Py_ssize_t nr = started ? PyList_Size(started) : 0;

	if (nr > 0) {
		aflame_region_stop(PyLong_AsUnsignedLongLong(PyList_GetItem(started, nr - 1)));
		if (PySequence_DelItem(started, nr - 1))
			return NULL;
	}
	return new_reference(nothing);
}

static PyObject *region_call(PyObject *self, PyObject *args, PyObject *Py_UNUSED(named))
{
	struct region *r = (struct region *)self;
	PyObject *function;

	if (!PyArg_ParseTuple(args, "O:region", &function))
		return NULL;
	return decorate("inside", r->name, function);
}

static PyMethodDef region_methods[] = {
    {"__enter__", region_enter, METH_NOARGS, NULL},
    {"__exit__", FAST(region_exit), METH_FASTCALL, NULL},
    {"__aenter__", region_aenter, METH_NOARGS, NULL},
    {"__aexit__", region_aexit, METH_VARARGS, NULL},
    {0},
};
static PyType_Slot region_slots[] = {
    {Py_tp_methods, region_methods},
    {Py_tp_call, (void *)region_call},
    {Py_tp_dealloc, (void *)region_free},
    {0},
};
static PyType_Spec region_spec = {
    .name = "aflame._regions.region",
    .basicsize = sizeof(struct region),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = region_slots,
};

static PyObject *region_new(PyObject *name)
{
	struct region *r = PyObject_New(struct region, (PyTypeObject *)region_type);

	if (!r)
		return NULL;
	r->name = r->started = NULL;
	r->text = text_of(name, &r->name);
	if (r->text)
		return (PyObject *)r;
	Py_DECREF(r);
	return NULL;
}

/* --- the module's functions */

static PyObject *module_region(PyObject *Py_UNUSED(module), PyObject *arg)
{
	const struct aflame_regions *recorder = aflame_regions_here();

	if (PyUnicode_Check(arg))
		return recorder ? region_new(arg) : new_reference(nothing);
	if (!PyCallable_Check(arg))
		return refuse("region() takes a str, or decorates a function", arg);
	return recorder ? decorate("by_its_name", Py_None, arg) : new_reference(arg);
}

static PyObject *module_mark(PyObject *Py_UNUSED(module), PyObject *name)
{
	PyObject *keep = NULL;

	if (!PyUnicode_Check(name))
		return refuse("mark() takes a str", name);
	if (!aflame_regions_here())
		return none();
	const char *text = text_of(name, &keep);
	if (text)
		aflame_mark(text);
	Py_XDECREF(keep);
	return text ? none() : NULL;
}

static PyObject *module_start(PyObject *Py_UNUSED(module), PyObject *name)
{
	PyObject *keep = NULL;

	if (!PyUnicode_Check(name))
		return refuse("start() takes a str", name);
	if (!aflame_regions_here())
		return PyLong_FromLong(0);
	const char *text = text_of(name, &keep);
	uint64_t id = text ? aflame_region_start(text) : 0;
	Py_XDECREF(keep);
	return text ? PyLong_FromUnsignedLongLong(id) : NULL;
}

static PyObject *module_stop(PyObject *Py_UNUSED(module), PyObject *arg)
{
	unsigned long long id = PyLong_AsUnsignedLongLong(arg);

	if (PyErr_Occurred())
		return NULL;
	aflame_region_stop(id);
	return none();
}

static PyMethodDef functions[] = {
    {"region", module_region, METH_O,
     "region(name)\n--\n\nA region: for `with`, `async with`, and as a decorator."},
    {"mark", module_mark, METH_O, "mark(name)\n--\n\nMark this moment on the calling thread."},
    {"start", module_start, METH_O,
     "start(name)\n--\n\nStart a region that any thread may stop; returns its id."},
    {"stop", module_stop, METH_O, "stop(id)\n--\n\nStop the region that start() gave this id."},
    {0},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_regions",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__regions(void);
PyMODINIT_FUNC PyInit__regions(void)
{
	if (!region_type)
		region_type = PyType_FromSpec(&region_spec);
	if (!nothing)
		nothing = nothing_new();
	return region_type && nothing ? PyModule_Create(&module) : NULL;
}
