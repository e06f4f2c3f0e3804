"""Mutable records in kernels: named tuples by pointer, arrays by data and shape.

numba passes a tuple of thirty arrays as two hundred numbers, and takes a minute to compile that. A kernel made by
`jit.ref_kernel` converts its arguments to these types once; its helpers take one pointer each. A field that holds a
0-d array is a number that helpers read and assign: `doc.n_pairs += 1`. Arrays must be contiguous and indices not
negative. The kernel's caller owns all memory.
"""

# mypy: disable-error-code="attr-defined, name-defined, override"
# numba has few annotations.

from __future__ import annotations

import operator
from functools import partial
from typing import Any

from llvmlite import ir
from numba._dynfunc import make_function
from numba.core import cgutils, types
from numba.core import config as numba_config
from numba.core.compiler import Compiler
from numba.core.imputils import RefType, iternext_impl, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import infer_getattr, intrinsic, lower_builtin, models, register_model

config: Any = numba_config


class Buffer(types.IterableType):
    """A contiguous array."""

    def __init__(self, dtype: types.Type, ndim: int):
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"Buffer({dtype}, {ndim})")

    @property
    def iterator_type(self) -> types.Type:
        return BufferIterator(self)


class BufferIterator(types.SimpleIteratorType):
    def __init__(self, buffer: Buffer):
        self.buffer = buffer
        super().__init__(f"iterator of {buffer}", buffer.dtype)


class Handle(types.Type):
    """A pointer to the fields of a named tuple."""

    def __init__(self, names: tuple[str, ...], fields: tuple[types.Type, ...]):
        self.names, self.fields = names, fields
        super().__init__(f"Handle({', '.join(f'{name}: {field}' for name, field in zip(names, fields))})")


@register_model(Buffer)
class _BufferModel(models.StructModel):
    def __init__(self, manager: Any, buffer: Buffer):
        members = [("data", types.CPointer(buffer.dtype)), ("shape", types.UniTuple(types.intp, buffer.ndim))]
        super().__init__(manager, buffer, members)


@register_model(BufferIterator)
class _IteratorModel(models.StructModel):
    def __init__(self, manager: Any, iterator: BufferIterator):
        at = types.EphemeralPointer(types.intp)
        super().__init__(manager, iterator, [("buffer", iterator.buffer), ("at", at)])


register_model(Handle)(models.OpaqueModel)


def _reference_type(given: types.Type) -> types.Type:
    if isinstance(given, types.Array) and given.layout == "C":
        return Buffer(given.dtype, given.ndim)
    if isinstance(given, types.BaseNamedTuple):
        return Handle(tuple(given.fields), tuple(map(_reference_type, given.types)))
    if isinstance(given, types.BaseTuple):
        return types.Tuple(tuple(map(_reference_type, given.types)))
    return given


@intrinsic
def as_ref(typingctx, given):
    """Return the reference that helpers get for an argument, valid within the kernel."""

    def codegen(context, builder, signature, args):
        return _as_ref(context, builder, given, args[0])

    return _reference_type(given)(given), codegen


def _as_ref(context, builder, given, value):
    reference = _reference_type(given)
    if isinstance(reference, Buffer):
        array = context.make_array(given)(context, builder, value)
        buffer = cgutils.create_struct_proxy(reference)(context, builder)
        buffer.data, buffer.shape = array.data, array.shape
        return buffer._getvalue()
    if not isinstance(given, types.BaseTuple):
        return value
    parts = [_as_ref(context, builder, one, builder.extract_value(value, k)) for k, one in enumerate(given.types)]
    if not isinstance(reference, Handle):
        return context.make_tuple(builder, reference, parts)
    place = cgutils.alloca_once(builder, _fields_type(context, reference))
    for k, part in enumerate(parts):
        builder.store(part, _field(builder, place, k))
    return builder.bitcast(place, cgutils.voidptr_t)


def _fields_type(context, handle):
    return ir.LiteralStructType([context.get_value_type(field) for field in handle.fields])


def _field(builder, pointer, k):
    return builder.gep(pointer, [cgutils.int32_t(0), cgutils.int32_t(k)], inbounds=True)


def _mark(builder, instruction, name):
    """Mark that fields of references and elements of buffers never share memory."""
    module = builder.module
    root = module.add_metadata(["superwords"])
    kind = module.add_metadata([name, root, ir.Constant(ir.IntType(64), 0)])
    instruction.set_metadata("tbaa", module.add_metadata([kind, kind, ir.Constant(ir.IntType(64), 0)]))
    return instruction


@infer_getattr
class _HandleAttributes(AttributeTemplate):
    key = Handle

    def generic_resolve(self, handle, name):
        field: Any = dict(zip(handle.names, handle.fields)).get(name)
        return field.dtype if _is_number(field) else field


def _is_number(field):
    return isinstance(field, Buffer) and field.ndim == 0


def _load_field(context, builder, handle, value, name):
    k = handle.names.index(name)
    kind = _fields_type(context, handle)
    at = _field(builder, builder.bitcast(value, kind.as_pointer()), k)
    return handle.fields[k], _mark(builder, builder.load(at), "field")


@lower_getattr_generic(Handle)
def _get_field(context, builder, handle, value, name):
    field, loaded = _load_field(context, builder, handle, value, name)
    if _is_number(field):
        return _element(context, builder, field, _proxy(context, builder, field, loaded).data)
    return loaded


@lower_setattr_generic(Handle)
def _set_number(context, builder, sig, args, name):
    field, loaded = _load_field(context, builder, sig.args[0], args[0], name)
    _store(context, builder, field, _proxy(context, builder, field, loaded).data, args[1])


@infer_global(len)
class _Length(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], Buffer):
            return signature(types.intp, args[0])
        return None


@lower_builtin(len, Buffer)
def _length(context, builder, sig, args):
    return _shape(context, builder, sig.args[0], args[0])[0]


def _result(buffer, index):
    """Return the type of `buffer[index]`, or None."""
    numbers = index.types if isinstance(index, types.BaseTuple) else (index,)
    if all(isinstance(one, types.Integer) for one in numbers) and len(numbers) <= buffer.ndim:
        left = buffer.ndim - len(numbers)
        return Buffer(buffer.dtype, left) if left else buffer.dtype
    if isinstance(index, types.SliceType) and not index.has_step and buffer.ndim == 1:
        return buffer
    return None


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], Buffer) and (found := _result(*args)) is not None:
            return signature(found, *args)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args, kws):
        buffer, index, _ = args
        if isinstance(buffer, Buffer) and _result(buffer, index) == buffer.dtype:
            return signature(types.none, *args)
        return None


def _proxy(context, builder, buffer, value):
    return cgutils.create_struct_proxy(buffer)(context, builder, value=value)


def _shape(context, builder, buffer, value):
    return cgutils.unpack_tuple(builder, _proxy(context, builder, buffer, value).shape, buffer.ndim)


def _locate(context, builder, buffer, value, index, index_value):
    """Return the address of the element or row, and the shape that is left."""
    if isinstance(index, types.BaseTuple):
        kinds, numbers = index.types, cgutils.unpack_tuple(builder, index_value, len(index))
    else:
        kinds, numbers = (index,), [index_value]
    shape, at = _shape(context, builder, buffer, value), cgutils.intp_t(0)
    for axis, size in enumerate(shape):
        at = builder.mul(at, size, flags=["nsw"])
        if axis < len(kinds):
            number = context.cast(builder, numbers[axis], kinds[axis], types.intp)
            if config.BOUNDSCHECK:
                with builder.if_then(builder.icmp_unsigned(">=", number, size), likely=False):
                    context.call_conv.return_user_exc(builder, IndexError, ("index is out of bounds",))
            at = builder.add(at, number, flags=["nsw"])
    data = _proxy(context, builder, buffer, value).data
    return builder.gep(data, [at], inbounds=True), shape[len(kinds) :]


def _make(context, builder, buffer, data, shape):
    made = cgutils.create_struct_proxy(buffer)(context, builder)
    made.data, made.shape = data, cgutils.pack_array(builder, shape)
    return made._getvalue()


@lower_builtin(operator.getitem, Buffer, types.Integer)
@lower_builtin(operator.getitem, Buffer, types.BaseTuple)
def _get_item(context, builder, sig, args):
    buffer, index = sig.args
    at, shape = _locate(context, builder, buffer, args[0], index, args[1])
    if isinstance(sig.return_type, Buffer):
        return _make(context, builder, sig.return_type, at, shape)
    return _element(context, builder, buffer, at)


def _element(context, builder, buffer, at):
    loaded = _mark(builder, builder.load(at), f"element {buffer.dtype}")
    return context.data_model_manager[buffer.dtype].from_data(builder, loaded)


@lower_builtin(operator.setitem, Buffer, types.Integer, types.Any)
@lower_builtin(operator.setitem, Buffer, types.BaseTuple, types.Any)
def _set_item(context, builder, sig, args):
    buffer, index, kind = sig.args
    at, _ = _locate(context, builder, buffer, args[0], index, args[1])
    _store(context, builder, buffer, at, context.cast(builder, args[2], kind, buffer.dtype))
    return context.get_dummy_value()


def _store(context, builder, buffer, at, value):
    value = context.data_model_manager[buffer.dtype].as_data(builder, value)
    _mark(builder, builder.store(value, at), f"element {buffer.dtype}")


@lower_builtin(operator.getitem, Buffer, types.SliceType)
def _get_slice(context, builder, sig, args):
    buffer, index = sig.args
    bounds = context.make_helper(builder, index, value=args[1])
    (size,) = _shape(context, builder, buffer, args[0])
    stop = _least(builder, bounds.stop, size)
    start = _least(builder, bounds.start, stop)
    data = builder.gep(_proxy(context, builder, buffer, args[0]).data, [start], inbounds=True)
    return _make(context, builder, buffer, data, [builder.sub(stop, start)])


def _least(builder, one, other):
    return builder.select(builder.icmp_signed("<", one, other), one, other)


@lower_builtin("getiter", Buffer)
def _get_iterator(context, builder, sig, args):
    iterator = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    iterator.buffer = args[0]
    iterator.at = cgutils.alloca_once_value(builder, cgutils.intp_t(0))
    return iterator._getvalue()


@lower_builtin("iternext", BufferIterator)
@iternext_impl(RefType.UNTRACKED)
def _next(context, builder, sig, args, result):
    (kind,) = sig.args
    iterator = cgutils.create_struct_proxy(kind)(context, builder, value=args[0])
    at = builder.load(iterator.at)
    (size,) = _shape(context, builder, kind.buffer, iterator.buffer)
    is_valid = builder.icmp_signed("<", at, size)
    result.set_valid(is_valid)
    with builder.if_then(is_valid):
        data = _proxy(context, builder, kind.buffer, iterator.buffer).data
        result.yield_(_element(context, builder, kind.buffer, builder.gep(data, [at], inbounds=True)))
        builder.store(builder.add(at, cgutils.intp_t(1)), iterator.at)


class HelperCompiler(Compiler):
    """Compiler of helpers to an LLVM module for kernels to link, not to machine code."""

    def __init__(self, typing_context, target_context, library, args, return_type, flags, local_types):
        flags.no_compile = True
        super().__init__(typing_context, target_context, library, args, return_type, flags, local_types)
        own = self.state.targetctx.codegen().create_library("helper")
        own._finalize_final_module = partial(setattr, own, "_finalized", True)
        self.state.library = own

    def compile_extra(self, function):
        compiled = super().compile_extra(function)
        about, library = compiled.fndesc, compiled.library
        key = make_function(about.lookup_module(), about.qualname, "", 0, compiled.environment, (library,))
        self.state.targetctx.insert_user_function(key, about, [library])
        return compiled._replace(entry_point=key)
