"""What is on a disk after a power cut, worked out from the calls that record_calls.c wrote down.

A file's bytes are safe after its fsync; a name (made, renamed, removed) after an fsync of its
folder. What is not safe may be on the disk or not."""
import dataclasses
import os
import struct

HEADER = struct.Struct("<cQqIHH")
PAGE = 4096                             # bytes that reach the disk at once


@dataclasses.dataclass
class Record:
    kind: str
    inode: int
    offset: int
    path: str
    other: str
    data: bytes


def read_records(path):
    """In their order; the last may be cut short."""
    content, at, found = path.read_bytes(), 0, []
    while at + HEADER.size <= len(content):
        kind, inode, offset, size, one, two = HEADER.unpack_from(content, at)
        begin = at + HEADER.size
        at = begin + one + two + size
        if at > len(content):
            break
        names = content[begin:begin + one], content[begin + one:begin + one + two]
        found.append(Record(kind.decode(), inode, offset, *map(os.fsdecode, names),
                            content[begin + one + two:at]))
    return found


class File:
    def __init__(self, content=b""):
        self.now, self.safe = bytearray(content), bytes(content)


class Link:
    def __init__(self, target):
        self.target = target


class Folder:
    def __init__(self):
        self.now, self.safe = {}, {}    # name -> File, Link or Folder


@dataclasses.dataclass
class Change:
    """Of a folder's names, not safe yet."""
    folder: Folder
    name: str
    node: object                        # None: the name goes away


class Disk:
    """Below `root`, which is safe as it is found."""
    def __init__(self, root):
        self.root, self.inodes, self.pending = str(root), {}, []
        self.top = self.scan(root)

    def scan(self, path):
        folder = Folder()
        if path.is_dir():
            for entry in os.scandir(path):
                if entry.is_symlink():
                    node = Link(os.readlink(entry.path))
                elif entry.is_dir():
                    node = self.scan(path / entry.name)
                else:
                    node = File((path / entry.name).read_bytes())
                folder.now[entry.name] = folder.safe[entry.name] = node
                self.inodes[entry.inode()] = node
            self.inodes[os.stat(path).st_ino] = folder
        return folder

    def place(self, path):
        """(folder, name) of a path; None outside of the root."""
        path = os.path.normpath(path)
        if path != self.root and not path.startswith(self.root + "/"):
            return None
        folder, parts = self.top, path[len(self.root) + 1:].split("/")
        for part in parts[:-1]:
            folder = folder.now.get(part)
            if not isinstance(folder, Folder):
                return None
        return folder, parts[-1]

    def change(self, place, node):
        folder, name = place
        if node is None:
            folder.now.pop(name, None)
        else:
            folder.now[name] = node
        self.pending.append(Change(folder, name, node))

    def take(self, r):
        place = self.place(r.path)
        if r.kind == "m" and os.path.normpath(r.path) == self.root:
            self.inodes[r.inode] = self.top
        elif r.kind in "wts":
            self.take_bytes(r)
        elif place is None or not place[1]:
            return
        elif r.kind in "cml":
            node = {"c": File, "m": Folder}.get(r.kind, lambda: Link(r.other))()
            if r.inode:
                self.inodes[r.inode] = node
            self.change(place, node)
        elif r.kind == "u":
            self.change(place, None)
        elif r.kind in "rxh":
            source = self.place(r.other)
            node, older = source[0].now.get(source[1]), place[0].now.get(place[1])
            self.change(place, node)
            if r.kind != "h":
                self.change(source, older if r.kind == "x" else None)

    def take_bytes(self, r):
        node = self.inodes.get(r.inode)
        if r.kind == "s" and isinstance(node, Folder):
            for each in self.pending:
                if each.folder is node:
                    apply(each, node.safe)
            self.pending = [each for each in self.pending if each.folder is not node]
        elif isinstance(node, File):
            if r.kind == "s":
                node.safe = bytes(node.now)
            elif r.kind == "t":
                size = r.offset
                node.now[size:] = bytes(max(0, size - len(node.now)))
            else:
                end = r.offset + len(r.data)
                if len(node.now) < end:
                    node.now.extend(bytes(end - len(node.now)))
                node.now[r.offset:end] = r.data

    def after_cut(self, random):
        """{path: bytes, link's target as text, or None for a folder} of one disk that may be found.
        Of what was not safe: nothing, all names without their bytes, or some of both."""
        how = random.choice(["nothing", "names", "some"])
        kept = {"nothing": 0, "names": len(self.pending),
                "some": random.randint(0, len(self.pending))}[how]
        found = {}

        def names(folder):
            entries = dict(folder.safe)
            for each in self.pending[:kept]:       # names are journalled in their order
                if each.folder is folder:
                    apply(each, entries)
            return entries

        def content(file):
            if file.safe == file.now or how != "some":
                return file.safe
            sizes = sorted((len(file.safe), len(file.now)))
            size = random.choice((*sizes, random.randint(*sizes)))
            data = bytearray(file.safe[:size].ljust(size, b"\0"))
            for begin in range(0, size, PAGE):      # each page the older or the newer one
                if random.random() < 0.5:
                    newer = file.now[begin:begin + PAGE][:size - begin]
                    data[begin:begin + len(newer)] = newer
            return bytes(data)

        def walk(folder, at):
            for name, node in names(folder).items():
                path = f"{at}{name}"
                if isinstance(node, Folder):
                    found[path] = None
                    walk(node, path + "/")
                else:
                    found[path] = node.target if isinstance(node, Link) else content(node)
        walk(self.top, "")
        return found

    def now(self):
        """As after_cut, of a disk that was let be."""
        found = {}

        def walk(folder, at):
            for name, node in folder.now.items():
                path = f"{at}{name}"
                if isinstance(node, Folder):
                    found[path] = None
                    walk(node, path + "/")
                else:
                    found[path] = node.target if isinstance(node, Link) else bytes(node.now)
        walk(self.top, "")
        return found


def apply(change, entries):
    if change.node is None:
        entries.pop(change.name, None)
    else:
        entries[change.name] = change.node
