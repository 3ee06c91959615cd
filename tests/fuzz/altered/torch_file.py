"""Writes what torch.save would, without torch."""
import io
import pickle
import zipfile


class Storage:
    """What torch.save gives a persistent id."""

    def __init__(self, kind, key, count):
        self.id = ("storage", kind, key, "cpu", count)


class Named:
    """Pickles as a module's name, without the module being there."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    def __init__(self, named, arguments):
        self.named, self.arguments = named, arguments


class TensorPickler(pickle._Pickler):  # the one in Python: its dispatch can be extended
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
    """A view of storage `key`, which has `count` numbers of type `kind` ("FloatStorage")."""
    hooks = Call(Named("collections", "OrderedDict"), ())
    return Call(Named("torch._utils", "_rebuild_tensor_v2"),
                (Storage(Named("torch", kind), key, count), offset, shape, strides, False, hooks))


def pickled(state):
    program = io.BytesIO()
    TensorPickler(program, 2).dump(state)
    return program.getvalue()


def archive(path, state, storages):
    """A file of torch.save: the state, and the bytes of storage "0", "1", ..."""
    with zipfile.ZipFile(path, "w") as out:
        for name, content in [("data.pkl", pickled(state)), ("byteorder", b"little"),
                              *((f"data/{i}", s) for i, s in enumerate(storages))]:
            out.writestr(zipfile.ZipInfo("archive/" + name), content)
