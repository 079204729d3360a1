const fileAlignment = 512;
const sectionAlignment = 4096;

/** Writes the following text to the first serial port, waiting for it before each letter, then halts. */
const code = Buffer.from([
  ...[0x48, 0x8d, 0x35, 0x1c, 0, 0, 0], //       lea rsi, [rip + text]
  0xac, //                                 next: lodsb
  ...[0x84, 0xc0, 0x74, 0x14], //                test al, al; jz done
  ...[0x88, 0xc4, 0x66, 0xba, 0xfd, 0x03], //    mov ah, al; mov dx, 0x3fd
  ...[0xec, 0xa8, 0x20, 0x74, 0xfb], //    busy: in al, dx; test al, 0x20; jz busy
  ...[0x88, 0xe0, 0x66, 0xba, 0xf8, 0x03], //    mov al, ah; mov dx, 0x3f8
  ...[0xee, 0xeb, 0xe7], //                      out dx, al; jmp next
  ...[0xf4, 0xeb, 0xfd], //                done: hlt; jmp done
]);

/** A program for UEFI firmware that writes one line to the serial console, for a medium whose boot must be visible. */
export function buildConsoleProgram(text: string): Buffer {
  const section = Buffer.concat([code, Buffer.from(`${text}\0`)]);
  const rawBytes = Math.ceil(section.length / fileAlignment) * fileAlignment;
  const head = Buffer.alloc(fileAlignment);
  head.write('MZ', 0, 'latin1');
  head.writeUInt32LE(0x40, 0x3c);
  const pe = 0x40;
  head.write('PE', pe, 'latin1');
  head.writeUInt16LE(0x8664, pe + 4);
  head.writeUInt16LE(1, pe + 6);
  head.writeUInt16LE(0xf0, pe + 20);
  // Executable, large addresses.
  head.writeUInt16LE(0x22, pe + 22);
  const optional = pe + 24;
  head.writeUInt16LE(0x20b, optional);
  head.writeUInt32LE(rawBytes, optional + 4);
  head.writeUInt32LE(sectionAlignment, optional + 16);
  head.writeUInt32LE(sectionAlignment, optional + 20);
  head.writeUInt32LE(sectionAlignment, optional + 32);
  head.writeUInt32LE(fileAlignment, optional + 36);
  head.writeUInt32LE(2 * sectionAlignment, optional + 56);
  head.writeUInt32LE(fileAlignment, optional + 60);
  // An application for UEFI, with 16 empty directories.
  head.writeUInt16LE(10, optional + 68);
  head.writeUInt32LE(16, optional + 108);
  const table = optional + 0xf0;
  head.write('.text', table, 'latin1');
  head.writeUInt32LE(section.length, table + 8);
  head.writeUInt32LE(sectionAlignment, table + 12);
  head.writeUInt32LE(rawBytes, table + 16);
  head.writeUInt32LE(fileAlignment, table + 20);
  // Readable and executable code.
  head.writeUInt32LE(0x6000_0020, table + 36);
  return Buffer.concat([head, section], fileAlignment + rawBytes);
}
