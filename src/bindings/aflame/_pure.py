"""aflame._regions in Python, for interpreters that cannot load it: slower, and the same in all else."""

try:
    import ctypes
except ImportError:
    ctypes = None


class _Functions(ctypes.Structure if ctypes else object):
    """struct aflame_regions of aflame/region.h"""

    if ctypes:
        _fields_ = [
            ("size", ctypes.c_size_t),
            ("begin", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
            ("end", ctypes.CFUNCTYPE(None)),
            ("mark", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
            ("start", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p)),
            ("stop", ctypes.CFUNCTYPE(None, ctypes.c_uint64)),
        ]


def _find():
    """The recorder's functions, or None."""
    try:
        entry = ctypes.CDLL(None).aflame_recorder_regions
    except (AttributeError, OSError):  # also: no ctypes
        return None
    entry.restype = ctypes.POINTER(_Functions)
    return entry().contents


_recorder = _find()


def _text(name, what):
    if not isinstance(name, str):
        raise TypeError("%s, not %r" % (what, type(name)))
    return name.encode("utf-8", "backslashreplace")


class _Done:
    """An awaitable that is done."""

    def __await__(self):
        return iter(())


class _Region:
    def __init__(self, name):
        self._name, self._text, self._started = name, _text(name, "region() takes a str, or decorates a function"), []

    def __enter__(self):
        if _recorder:
            _recorder.begin(self._text)
        return self

    def __exit__(self, *_):
        if _recorder:
            _recorder.end()

    def __aenter__(self):
        self._started.append(start(self._name))
        return _Done()

    def __aexit__(self, *_):
        if self._started:
            stop(self._started.pop())
        return _Done()

    def __call__(self, function):
        if not _recorder:
            return function
        from aflame._decorate import inside

        return inside(self._name, function)


def region(name):
    """A region: for `with`, `async with`, and as a decorator."""
    if isinstance(name, str) or not callable(name):
        return _Region(name)
    if not _recorder:
        return name
    from aflame._decorate import by_its_name

    return by_its_name(None, name)


def mark(name):
    """Mark this moment on the calling thread."""
    text = _text(name, "mark() takes a str")
    if _recorder:
        _recorder.mark(text)


def start(name):
    """Start a region that any thread may stop; returns its id."""
    text = _text(name, "start() takes a str")
    return _recorder.start(text) if _recorder else 0


def stop(id):
    """Stop the region that start() gave this id."""
    if _recorder and id:
        _recorder.stop(id)
