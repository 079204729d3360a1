import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPeer } from '../../../peers/find-peer.ts';

/** How a command of kubectl ended. */
export interface KubectlResult {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** The real kubectl with one kubeconfig, and with nothing of this machine's user. */
export interface KubectlRunner {
  /** Runs it with `input` as what `-f -` reads. Ends within 30 s, whatever happens. */
  run(args: readonly string[], input?: unknown): Promise<KubectlResult>;
  /** What it printed. Throws when it failed. */
  says(args: readonly string[], input?: unknown): Promise<string>;
  close(): Promise<void>;
}

/** A kubectl that has this kubeconfig, until it is closed. */
export async function openKubectlRunner(kubeconfig: string): Promise<KubectlRunner> {
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-'));
  const path = join(folder, 'kubeconfig');
  await writeFile(path, kubeconfig, { mode: 0o600 });
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, KUBECONFIG: path };
  const run = (args: readonly string[], input?: unknown): Promise<KubectlResult> =>
    new Promise((resolve) => {
      const options = { env, timeout: 30_000, encoding: 'utf8' } as const;
      const child = execFile(findPeer('kubectl') ?? 'kubectl', args, options, (error, out, text) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, out, error: text });
      });
      child.stdin?.end(input === undefined ? '' : JSON.stringify(input));
    });
  const says = async (args: readonly string[], input?: unknown): Promise<string> => {
    const { code, out, error } = await run(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${error}`);
    return out;
  };
  return { run, says, close: () => rm(folder, { recursive: true, force: true }) };
}

/** A line of `auth can-i --list`: what may be done with resources, or with a path. */
export interface CanIListRow {
  readonly resources: string;
  readonly paths: string;
  readonly names: string;
  readonly verbs: string;
}

/** What `auth can-i --list` shows for everybody who is let in. */
export const defaultCanIRows: readonly string[] = [
  'selfsubjectaccessreviews.authorization.k8s.io: create',
  'selfsubjectrulesreviews.authorization.k8s.io: create',
  'selfsubjectreviews.authentication.k8s.io: create',
];

/** Reads what `auth can-i --list` printed. Columns are as wide as what stands in them. */
export function parseCanIList(table: string): CanIListRow[] {
  const [header = '', ...lines] = table.split('\n').filter((line) => line.trim() !== '');
  const starts = ['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs'].map((title) => header.indexOf(title));
  return lines.map((line) => {
    const [resources = '', paths = '', names = '', verbs = ''] = starts.map((start, i) =>
      line.slice(start, starts[i + 1]).trim(),
    );
    return { resources, paths, names, verbs };
  });
}
