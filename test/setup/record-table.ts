import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTable } from './markdown-table.ts';

/** The index of the decision records in a folder: number and title of each, with a link. */
export function recordTable(folder: string): string {
  const rows = readdirSync(folder)
    .filter((name) => /^\d{4}-.*\.md$/.test(name))
    .sort()
    .map((name) => {
      const [, number = '', title = ''] = /^# (\d+)\. (.+)$/m.exec(readFileSync(join(folder, name), 'utf8')) ?? [];
      return [`[${number}](${name})`, title];
    });
  return formatTable(['No.', 'Decision'], rows);
}
