import { spawnSync } from 'node:child_process';

/** Whether a process runs. A zombie does not. */
export function isProcessRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8', timeout: 10_000 });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}
