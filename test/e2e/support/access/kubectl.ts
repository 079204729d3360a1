import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPeer } from '../../../peers/find-peer.ts';

/** The result of a kubectl command. */
export interface KubectlResult {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** The real kubectl with one kubeconfig, isolated from the configuration of this machine's user. */
export interface KubectlRunner {
  /** Runs it with `input` as the input of `-f -`. Timeout: 30 s. */
  run(args: readonly string[], input?: unknown): Promise<KubectlResult>;
  /** Its output. Throws when it failed. */
  says(args: readonly string[], input?: unknown): Promise<string>;
  close(): Promise<void>;
}

/** A kubectl with this kubeconfig, until it is closed. */
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

/** A line of `auth can-i --list`: the verbs for resources, or for a path. */
export interface CanIListRow {
  readonly resources: string;
  readonly paths: string;
  readonly names: string;
  readonly verbs: string;
}

/** The rows that `auth can-i --list` shows for every authenticated user. */
export const defaultCanIRows: readonly string[] = [
  'selfsubjectaccessreviews.authorization.k8s.io: create',
  'selfsubjectrulesreviews.authorization.k8s.io: create',
  'selfsubjectreviews.authentication.k8s.io: create',
];

/** Parses the output of `auth can-i --list`. Column widths depend on the content. */
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
