/** The content of a path in an initramfs: a program, a text, or a folder if undefined. */
export type InitramfsContent = Buffer | string | undefined;

/** The first root file system of a Linux, as a cpio archive (kernel.org: initramfs buffer format). Parents come first. */
export function buildInitramfs(tree: Readonly<Record<string, InitramfsContent>>): Buffer {
  const items = Object.entries(tree).map(([path, content], index) => {
    const mode = content === undefined ? 0o040755 : 0o100755;
    return cpioEntry(path, index + 1, mode, content === undefined ? Buffer.alloc(0) : Buffer.from(content));
  });
  return Buffer.concat([...items, cpioEntry('TRAILER!!!', 0, 0, Buffer.alloc(0))]);
}

function cpioEntry(path: string, inode: number, mode: number, content: Buffer): Buffer {
  const name = Buffer.from(`${path}\0`);
  const fields = [inode, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length, 0];
  const head = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  return Buffer.concat([padded(Buffer.concat([Buffer.from(head), name])), padded(content)]);
}

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes], Math.ceil(bytes.length / 4) * 4);
