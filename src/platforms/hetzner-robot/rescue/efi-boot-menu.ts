import { HetznerRobotError } from '../error-codes.ts';

/** An entry of the firmware's boot menu, as `efibootmgr -v` lists it. */
export interface EfiBootMenuEntry {
  /** Four hexadecimal digits, upper case. */
  readonly id: string;
  readonly active: boolean;
  readonly label: string;
  /** Device path; empty where efibootmgr prints none. */
  readonly path: string;
}

export interface EfiBootMenu {
  /** The entry of the current boot; empty: unknown. */
  readonly current: string;
  readonly order: readonly string[];
  readonly entries: readonly EfiBootMenuEntry[];
}

/** Parses the output of `efibootmgr -v`, version 17 of Debian 12 and version 18. Throws RESCUE_COMMAND_FAILED. */
export function parseEfiBootMenu(text: string): EfiBootMenu {
  const lines = text.split('\n');
  const entries = lines.flatMap((line): EfiBootMenuEntry[] => {
    const match = /^Boot([0-9A-Fa-f]{4})([* ]) ?([^\t]*)(?:\t(.*))?$/.exec(line);
    if (!match) return [];
    const [, id = '', star, label = '', path = ''] = match;
    return [{ id: id.toUpperCase(), active: star === '*', label: label.trim(), path: path.trim() }];
  });
  if (entries.length === 0 && !lines.some((line) => /^(BootOrder|BootCurrent|No BootOrder)/.test(line)))
    throw new HetznerRobotError('RESCUE_COMMAND_FAILED', 'efibootmgr lists nothing.');
  return { current: parseIds(lines, 'BootCurrent')[0] ?? '', order: parseIds(lines, 'BootOrder'), entries };
}

const parseIds = (lines: readonly string[], name: string): string[] => {
  const line = lines.find((one) => one.startsWith(`${name}: `));
  return (line?.slice(name.length + 2).split(',') ?? [])
    .map((id) => id.trim().toUpperCase())
    .filter((id) => /^[0-9A-F]{4}$/.test(id));
};

/** True for a network entry: by its path, or by the words in its label where its path names no disk. */
export const isNetworkEntry = ({ label, path }: EfiBootMenuEntry): boolean =>
  /\b(MAC|IPv4|IPv6|Uri)\(|\bBBS\(Network/i.test(path) ||
  (!/\bHD\(/.test(path) && /\b(PXE|IPv[46]|IP[46]|network|HTTP boot)\b/i.test(label));

/** GUID of the GPT partition that the entry boots from, in lower case; undefined: it boots from something else. */
export const partitionGuidOf = ({ path }: EfiBootMenuEntry): string | undefined =>
  /\bHD\(\d+,GPT,([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}),/i.exec(path)?.[1]?.toLowerCase();
