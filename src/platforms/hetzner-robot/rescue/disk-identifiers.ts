/** Names a disk by what is written on it. One of them may be empty, never both; where both are given, both have to fit. */
export interface DiskIdentifiers {
  readonly serial: string;
  readonly wwn: string;
}

/** The two arguments by which a script knows it. */
export function toScriptArguments({ serial, wwn }: DiskIdentifiers): [string, string] {
  if (serial === '' && wwn === '') throw new TypeError('a disk without a name: any would fit');
  // Line breaks would end a line of the answer.
  if (/[\n\r]/.test(serial + wwn)) throw new TypeError('a name of a disk goes over several lines');
  return [serial, wwn];
}
