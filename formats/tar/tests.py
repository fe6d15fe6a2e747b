"""Archives of every flavour, and what Python's tarfile finds in each.

tests.py FOLDER: writes NAME.tar into the folder, and prints one line of JSON for each:
{"name", "entries": [[name in hex, offset of the data, size]] or null when tarfile refuses,
"must": "agree", "refuse" or "either" (agree or refuse)}.
"""
import io, json, os, shutil, subprocess, sys, tarfile

folder = sys.argv[1]
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def listing(data):
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8") as archive:
            members = archive.getmembers()
    except (tarfile.TarError, OverflowError):
        return None
    name = lambda member: member.name.encode("utf-8", "surrogateescape").hex()
    return [[name(m), m.offset_data, m.size] for m in members if m.isreg()]


def emit(name, data, must):
    with open(os.path.join(folder, name + ".tar"), "wb") as file:
        file.write(data)
    print(json.dumps({"name": name, "entries": listing(data), "must": must}))


def pack(members, flavour, **kw):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=FORMATS[flavour], encoding="utf-8", **kw) as archive:
        for name, content, changes in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in changes.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


def with_size(data, at, field):
    """`data` with this size field in the header at `at`, and a matching checksum."""
    header = bytearray(data[at : at + 512])
    header[124:136] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return data[:at] + bytes(header) + data[at + 512 :]


def cuts(name, data):
    for end in range(0, len(data) + 1, 512):
        emit(f"{name}-cut-{end}", data[:end], "either")
    for end in range(100, len(data), 1024):
        emit(f"{name}-cut-{end}", data[:end], "either")


files = [(f"{i:06d}.{field}", bytes([65 + i]) * size, {}) for i, size in enumerate((0, 1, 511, 512, 513, 3000)) for field in ("jpg", "cls")]
deep = "/".join(["d" * 40] * 3)
long_names = [(deep + "/" + "n" * (n - len(deep) - 1), b"x" * n, {}) for n in (125, 150, 200, 222)]
unicode = [("k\u00e9y.jpg", b"1", {}), ("\u65e5\u672c/\U0001f600.cls", b"2", {})]
for flavour in FORMATS:
    emit(f"{flavour}-files", pack(files, flavour), "agree")
    emit(f"{flavour}-long", pack(long_names, flavour), "agree")
    emit(f"{flavour}-unicode", pack(unicode, flavour), "agree")
    emit(f"{flavour}-none", pack([], flavour), "agree")
    odd = [("./a.jpg", b"1", {}), ("../b.jpg", b"2", {}), ("/c.jpg", b"3", {}), ("a.jpg", b"4", {}), ("a.jpg", b"5", {}), ("no-dot", b"6", {}), ("n" * 100, b"7", {})]
    emit(f"{flavour}-odd", pack(odd, flavour), "agree")
    folders = [("d/", b"", {"type": tarfile.DIRTYPE}), ("d/a.jpg", b"1", {}), ("e", b"", {"type": tarfile.DIRTYPE}), ("e/a.jpg", b"2", {"type": tarfile.AREGTYPE}), ("f/", b"", {"type": tarfile.AREGTYPE}), ("c.jpg", b"3", {"type": tarfile.CONTTYPE})]
    emit(f"{flavour}-folders", pack(folders, flavour), "agree")
    for kind, name in ((tarfile.SYMTYPE, "symlink"), (tarfile.LNKTYPE, "hardlink"), (tarfile.CHRTYPE, "device"), (tarfile.FIFOTYPE, "fifo"), (b"Z", "unknown"), (b"M", "volume")):
        link = ("l.jpg", b"", {"type": kind, "linkname": "000000.jpg"})
        emit(f"{flavour}-{name}", pack(files[:2] + [link] + files[2:4], flavour), "refuse")
    data = pack(files[:6], flavour)
    cuts(flavour, data)
    cuts(flavour + "-long", pack(long_names[:2], flavour))
    emit(f"{flavour}-trailing", pack(files, flavour) + b"garbage" * 999, "agree")
    emit(f"{flavour}-blank", data[:1536] + b"\0" * 512 + data[1536:], "either")
    for at in range(0, 4096, 512):
        emit(f"{flavour}-flipped-{at}", data[:at] + b"\x01" + data[at + 1 :], "either")
    # The headers of 000001.jpg (1 byte) and 000001.cls. No negative sizes: tarfile would go back and
    # loop for ever.
    for at in (1024, 2048):
        for i, field in enumerate((b"00000000000\0", b"00000000002\0", b"00000001001\0", b"00000010000\0", b"77777777777\0", b"777777777777", b"\x80" + b"\0" * 10 + b"\x02", b"\x80" + b"\xff" * 11, b"\x80\0\0\0" + b"\xff" * 8, b"\x80\0\0\0\x7f" + b"\xff" * 7, b"           \0", b"0x200\0\0\0\0\0\0\0")):
            emit(f"{flavour}-size-{at}-{i}", with_size(data, at, field), "either")

longer = [(("p" * 90 + "/") * 3 + "%03d.jpg" % n + "q" * n, b"y" * n, {}) for n in (1, 30, 100)]
links = [("t" * 150, b"", {"type": tarfile.SYMTYPE, "linkname": "u" * 150})]
for flavour in ("gnu", "pax"):
    emit(f"{flavour}-longer", pack(longer, flavour), "agree")
    emit(f"{flavour}-long-link", pack(links, flavour), "refuse")
emit("pax-times", pack([(name, content, {"mtime": 1.5}) for name, content, _ in files], "pax"), "agree")
emit("pax-comment", pack(files, "pax", pax_headers={"comment": "made by hand"}), "agree")
emit("pax-global-path", pack(files, "pax", pax_headers={"path": "same.jpg"}), "refuse")
emit("pax-size", pack([("a.jpg", b"12345", {"pax_headers": {"size": "5"}}), ("b.jpg", b"1", {})], "pax"), "agree")
emit("pax-size-wrong", pack([("a.jpg", b"1" * 600, {"pax_headers": {"size": "5"}}), ("b.jpg", b"1", {})], "pax"), "either")
emit("pax-size-huge", pack([("a.jpg", b"1", {"pax_headers": {"size": "9" * 19}}), ("b.jpg", b"1", {})], "pax"), "refuse")
emit("pax-sparse", pack([("a.jpg", b"1", {"pax_headers": {"GNU.sparse.size": "1", "GNU.sparse.map": "0,1"}})], "pax"), "refuse")
big = bytearray(pack([("a.jpg", b"1", {})], "gnu"))
emit("base-256", with_size(bytes(big), 0, b"\x80" + b"\0" * 10 + b"\x01"), "agree")
# Bytes over 127 summed as signed, as some old programs did.
signed = bytearray(pack(unicode, "ustar"))
total = sum(b - 256 if b > 127 else b for b in signed[:148] + b" " * 8 + signed[156:512])
signed[148:156] = b"%06o\0 " % total
emit("signed-checksum", bytes(signed), "agree")
old = bytearray(pack([("a.jpg", b"1", {})], "ustar"))
old[257:265] = b"\0" * 8
emit("v7", with_size(bytes(old), 0, bytes(old[124:136])), "agree")
emit("empty", b"", "refuse")
emit("zeros", b"\0" * 10240, "agree")
emit("text", b"no archive at all\n" * 100, "refuse")

if shutil.which("tar") and b"GNU" in subprocess.run(["tar", "--version"], capture_output=True).stdout:
    source = os.path.join(folder, "source")
    os.makedirs(os.path.join(source, deep))
    for name, content, _ in files + unicode[:1] + long_names[:2]:
        with open(os.path.join(source, name), "wb") as file:
            file.write(content)
    with open(os.path.join(source, "holes.jpg"), "wb") as file:
        file.write(b"x")
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(b"y")

    def gnu_tar(name, must, *options, members=(".",)):
        out = os.path.join(folder, "made.tar")
        command = ["tar", "-cf", out, "-C", source, "--sort=name", *options, *members]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0:
            with open(out, "rb") as file:
                emit("tar-" + name, file.read(), must)

    for flavour in ("v7", "oldgnu", "gnu", "ustar", "posix"):
        members = ("000001.jpg", "000002.cls") if flavour == "v7" else (".",)
        gnu_tar(flavour, "agree", f"--format={flavour}", members=members)
        gnu_tar(flavour + "-label", "agree", f"--format={flavour}", "--label=name", members=members)
    for flavour in ("gnu", "posix"):
        gnu_tar(flavour + "-sparse", "either", f"--format={flavour}", "--sparse")
        gnu_tar(flavour + "-incremental", "refuse" if flavour == "gnu" else "agree", f"--format={flavour}", "--listed-incremental=" + os.path.join(folder, flavour + ".snar"))
    for version in ("0.0", "0.1"):
        gnu_tar("sparse-" + version, "either", "--format=posix", "--sparse", "--sparse-version=" + version)
    os.symlink("000001.jpg", os.path.join(source, "link.jpg"))
    os.link(os.path.join(source, "000001.jpg"), os.path.join(source, "twin.jpg"))
    gnu_tar("links", "refuse")
    gnu_tar("links-dereferenced", "agree", "--dereference", "--hard-dereference")
