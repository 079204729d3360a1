import { readFile } from 'node:fs/promises';

/** The resident memory of a running process, as Linux reports it; 0 elsewhere. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+([0-9]+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

/** User and system processor time of a process so far. Linux only; 0 elsewhere. */
export async function cpuSeconds(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // After the name in parentheses, which may contain spaces: fields 14 and 15 of proc(5), in hundredths of a second.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
}
