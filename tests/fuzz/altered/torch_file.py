"""Writes files of torch.save without torch."""
import io
import pickle
import zipfile


class Storage:
    """A storage, which torch.save pickles as a persistent id."""

    def __init__(self, kind, key, count):
        self.id = ("storage", kind, key, "cpu", count)


class Named:
    """A reference to a name of a module, pickled without importing the module."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    def __init__(self, named, arguments):
        self.named, self.arguments = named, arguments


class TensorPickler(pickle._Pickler):  # the pickler written in Python, whose dispatch can be extended
    dispatch = dict(pickle._Pickler.dispatch)

    def persistent_id(self, value):
        return value.id if isinstance(value, Storage) else None

    def save_named(self, value):
        self.write(b"c" + f"{value.module}\n{value.name}\n".encode())

    def save_call(self, value):
        self.save_reduce(value.named, value.arguments)

    dispatch[Named] = save_named
    dispatch[Call] = save_call

    def save_reduce(self, func, args, *rest, **more):
        self.save(func)
        self.save(args)
        self.write(pickle.REDUCE)


def tensor(kind, key, count, offset, shape, strides):
    """A view of storage `key`, which has `count` elements of type `kind` ("FloatStorage")."""
    hooks = Call(Named("collections", "OrderedDict"), ())
    return Call(Named("torch._utils", "_rebuild_tensor_v2"),
                (Storage(Named("torch", kind), key, count), offset, shape, strides, False, hooks))


def pickled(state):
    program = io.BytesIO()
    TensorPickler(program, 2).dump(state)
    return program.getvalue()


def archive(path, state, storages):
    """Writes a file of torch.save: the pickled state, and the bytes of storages "0", "1", ..."""
    with zipfile.ZipFile(path, "w") as out:
        for name, content in [("data.pkl", pickled(state)), ("byteorder", b"little"),
                              *((f"data/{i}", s) for i, s in enumerate(storages))]:
            out.writestr(zipfile.ZipInfo("archive/" + name), content)
