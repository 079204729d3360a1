import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';

/** Bytes of the file, or 0 if it does not exist. */
export const fileSize = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

/** Creates a sparse file of this size. An existing file loses its content. */
export function makeSparse(path: string, bytes: number): void {
  writeFileSync(path, '');
  truncateSync(path, bytes);
}

/** Bytes from `offset` on; fewer at the end of the file. */
export function readAt(path: string, offset: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    return readFrom(file, offset, length);
  } finally {
    closeSync(file);
  }
}

/** Writes in place. Zeros over existing zeros or holes are not written, so a wiped disk stays sparse. */
export function writeAt(path: string, offset: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  try {
    if (isZero(bytes) && offset + bytes.length <= fstatSync(file).size) {
      if (isZero(readFrom(file, offset, bytes.length))) return;
    }
    writeSync(file, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(file);
  }
}

/** Turns the whole file into a hole. */
export function discardFile(path: string): void {
  const { size } = statSync(path);
  truncateSync(path, 0);
  truncateSync(path, size);
}

const zeros = Buffer.alloc(64 * 1024);

/** Whether the range holds only zeros. */
export function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += zeros.length) {
    const part = bytes.subarray(at, at + zeros.length);
    if (part.compare(zeros, 0, part.length) !== 0) return false;
  }
  return true;
}

function readFrom(file: number, offset: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readSync(file, buffer, 0, length, offset));
}
