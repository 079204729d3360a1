import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The real program, where the variable names one: `TALOSCTL_BIN` for 1.13, `TALOSCTL_1_14_BIN` for 1.14. */
export const talosctl = process.env['TALOSCTL_BIN'];
export const talosctl114 = process.env['TALOSCTL_1_14_BIN'];

/** Title of a group of tests that are skipped without it. */
export const withTalosctl = `with the real program (${talosctl ? 'found' : 'skipped: TALOSCTL_BIN does not say where it is'})`;

/**
 * Runs talosctl in a folder of its own with `files` in it, which is gone afterwards. Returns what it printed, or the file
 * `result` that it wrote there; throws when it fails.
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

/** What `talosctl validate --strict` has against a configuration; empty when nothing. */
export function validate(binary: string, mode: 'metal' | 'cloud', config: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'talosctl-'));
  try {
    writeFileSync(join(folder, 'config.yaml'), config, { mode: 0o600 });
    const args = ['validate', '--strict', '--mode', mode, '--config', 'config.yaml'];
    const run = spawnSync(binary, args, { cwd: folder, encoding: 'utf8', timeout: 60_000 });
    return run.status === 0 ? '' : `${run.stdout}${run.stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
