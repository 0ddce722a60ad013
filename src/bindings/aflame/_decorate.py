"""Functions in regions. Only a recorded program comes here: without a recorder decorators hand back the function."""

import functools
import inspect


def by_its_name(_, function):
    """@aflame.region without a name."""
    return inside(getattr(function, "__qualname__", None) or type(function).__name__, function)


def inside(name, function):
    """FUNCTION, each call of which is a region. Of generators it is each time that they run, up to the next yield."""
    from aflame import region

    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    if inspect.isasyncgenfunction(function):
        return _async_generator(region, name, function)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def in_region(*args, **named):
            async with region(name):
                return await function(*args, **named)

        return in_region
    if inspect.isgeneratorfunction(function):
        return _generator(region, name, function)

    @functools.wraps(function)
    def in_region(*args, **named):
        with region(name):
            return function(*args, **named)

    return in_region


def _generator(region, name, function):
    @functools.wraps(function)
    def in_region(*args, **named):
        generator = function(*args, **named)
        step, value = generator.send, None
        while True:
            try:
                with region(name):
                    result = step(value)
            except StopIteration as stop:
                return stop.value
            try:
                step, value = generator.send, (yield result)
            except GeneratorExit:
                with region(name):
                    generator.close()
                raise
            except BaseException as error:
                step, value = generator.throw, error

    return in_region


def _async_generator(region, name, function):
    @functools.wraps(function)
    async def in_region(*args, **named):
        generator = function(*args, **named)
        step, value = generator.asend, None
        while True:
            try:
                async with region(name):
                    result = await step(value)
            except StopAsyncIteration:
                return
            try:
                step, value = generator.asend, (yield result)
            except GeneratorExit:
                async with region(name):
                    await generator.aclose()
                raise
            except BaseException as error:
                step, value = generator.athrow, error

    return in_region
