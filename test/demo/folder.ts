import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DemoFailed } from './wait-for-result.ts';

/** The folder for the demo's output; ignored by git. */
export const demoFolder = '.demo';
const pidFile = join(demoFolder, 'pid');

/**
 * Empties the folder for this run. Two concurrent demos would share it and the machines' addresses, so the second one
 * waits.
 */
export async function lockFolder(): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (pid > 0 && isAlive(pid))
    throw new DemoFailed(`Another demo is running (process ${pid}). End it first: they would share their addresses.`);
  await rm(demoFolder, { recursive: true, force: true });
  await mkdir(demoFolder, { recursive: true });
  await writeFile(pidFile, String(process.pid));
}

/** Allows the next run. The output stays in the folder. */
export async function unlockFolder(): Promise<void> {
  await rm(pidFile, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
