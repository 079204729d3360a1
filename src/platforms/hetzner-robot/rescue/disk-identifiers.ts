/**
 * Identifies a disk by serial number and WWN. One of them may be empty, never both. Where both are given, both have to
 * match.
 */
export interface DiskIdentifiers {
  readonly serial: string;
  readonly wwn: string;
}

/** The two arguments by which a script identifies the disk. */
export function toScriptArguments({ serial, wwn }: DiskIdentifiers): [string, string] {
  if (serial === '' && wwn === '') throw new TypeError('a disk without an identifier would match any disk');
  // Line breaks would end a line of the script's output.
  if (/[\n\r]/.test(serial + wwn)) throw new TypeError('a disk identifier contains a line break');
  return [serial, wwn];
}
