import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPeer, missingPeers } from '../peers/find-peer.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';

/** The real program, 1.13 and 1.14, where this machine has them. */
export const talosctl = findPeer('talosctl');
export const talosctl114 = findPeer('talosctl-1.14');

/**
 * The one that knows the documents of a Talos version; undefined where this machine has none: an older one does not
 * know them.
 */
export const talosctlFor = (version: string): string | undefined =>
  version.startsWith('1.14') ? talosctl114 : talosctl;
/** The message about the missing program. */
export const missingTalosctlFor = (version: string): string =>
  missingPeers(version.startsWith('1.14') ? 'talosctl-1.14' : 'talosctl') ?? '';

/** A group of tests with the real program: skipped with a message without it. */
export const describeWithTalosctl = (body: (binary: string) => void): void =>
  describeUnlessMissing('with the real talosctl', missingPeers('talosctl'), () => body(talosctl ?? ''));
export const describeWithTalosctl114 = (body: (binary: string) => void): void =>
  describeUnlessMissing('with the real talosctl 1.14', missingPeers('talosctl-1.14'), () => body(talosctl114 ?? ''));

/**
 * Runs talosctl in a temporary folder with `files` in it. Returns its output, or the file `result` that it wrote there;
 * throws when it fails.
 */
export function runTalosctl(
  binary: string,
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
  result?: string,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'talosctl-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
    const printed = execFileSync(binary, [...args], { cwd: folder, encoding: 'utf8', timeout: 60_000, stdio: 'pipe' });
    return result === undefined ? printed : readFileSync(join(folder, result), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Asks simulated nodes with talosctl and this talosconfig. Returns its output, throws when it fails. The nodes run in this
 * process and have to go on meanwhile.
 */
export async function askNodesWithTalosctl(
  binary: string,
  talosconfig: string,
  args: readonly string[],
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'talosctl-'));
  try {
    await writeFile(join(folder, 'talosconfig'), talosconfig, { mode: 0o600 });
    const words = ['--talosconfig', 'talosconfig', ...args];
    return (await promisify(execFile)(binary, words, { cwd: folder, timeout: 60_000 })).stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One configuration to validate. */
export interface ValidationRequest {
  readonly binary: string;
  readonly mode: 'metal' | 'cloud';
  readonly config: string;
}

const validateArgs = (mode: ValidationRequest['mode'], file: string): string[] => [
  ...['validate', '--strict', '--mode', mode],
  ...['--config', file],
];

/** The error message of `talosctl validate --strict` for a configuration; empty when it is valid. */
export function validateWithTalosctl(binary: string, mode: ValidationRequest['mode'], config: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'talosctl-'));
  try {
    writeFileSync(join(folder, 'config.yaml'), config, { mode: 0o600 });
    const args = validateArgs(mode, 'config.yaml');
    const run = spawnSync(binary, args, { cwd: folder, encoding: 'utf8', timeout: 60_000 });
    return run.status === 0 ? '' : `${run.stdout}${run.stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Validates many, two at a time: the start of the program dominates the time. Results are in the order of the requests.
 */
export async function validateAllWithTalosctl(requests: readonly ValidationRequest[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'talosctl-'));
  const answers: string[] = [];
  const open = [...requests.entries()];
  const work = async (): Promise<void> => {
    for (let next = open.shift(); next; next = open.shift()) {
      const [i, { binary, mode, config }] = next;
      const file = join(folder, `${i}.yaml`);
      await writeFile(file, config, { mode: 0o600 });
      answers[i] = await validationOutput(binary, validateArgs(mode, file));
    }
  };
  try {
    await Promise.all([work(), work()]);
    return answers;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function validationOutput(binary: string, args: readonly string[]): Promise<string> {
  const run = spawn(binary, [...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
  const printed: Buffer[] = [];
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (chunk: Buffer) => printed.push(chunk));
  return await new Promise((resolve, reject) => {
    run.once('error', reject);
    run.once('close', (code) => resolve(code === 0 ? '' : `${Buffer.concat(printed)}`));
  });
}
