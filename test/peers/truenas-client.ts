import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cacheFolder } from './find-peer.ts';

/** The input of the official Python client. */
export interface TrueNasClientInput {
  /** `wss://…/api/current`. */
  readonly uri: string;
  /** File with the certificate authority that it trusts. */
  readonly ca: string;
  readonly login?: {
    readonly username: string;
    readonly api_key: string;
    /** Default: SCRAM, without a fallback. */
    readonly auth_mechanism?: 'SCRAM' | 'PLAIN';
    readonly channel_binding?: boolean;
  };
  /** Events that it subscribes to before the calls. */
  readonly listen?: readonly string[];
  /** `job`: wait for the end of the job that the call starts. */
  readonly calls: readonly { readonly method: string; readonly params?: readonly unknown[]; readonly job?: boolean }[];
}

/** The outcome of one call: a result, rejected arguments, or an error. */
export interface TrueNasClientResult {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly result?: any;
  readonly refused?: readonly (readonly [attribute: string | null, message: string, errno: number])[];
  readonly error?: { readonly errno: number | null; readonly text: string };
}

/** The output of the client. */
export interface TrueNasClientOutput {
  readonly login: TrueNasClientResult | null;
  readonly calls: readonly TrueNasClientResult[];
  readonly events: readonly (readonly [kind: string, collection: string])[];
}

const variable = 'TRUENAS_API_CLIENT';
const packages = ['truenas_api_client', 'websocket'];

const folders = (): readonly string[] => {
  const named = process.env[variable];
  return named ? [named] : [join(cacheFolder(), 'truenas-api-client')];
};
const findFolder = () => folders().find((folder) => packages.every((name) => existsSync(join(folder, name))));
const findPython = () =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'python3'))
    .find((path) => existsSync(path));

/** Why the client cannot be run, in one sentence; undefined when it can. */
export function missingTrueNasClient(): string | undefined {
  if (!findPython()) return 'python3 not found in PATH.';
  if (findFolder()) return undefined;
  return (
    `The official client of TrueNAS not found: \`pip install --target FOLDER git+https://github.com/truenas/api_client\` and ` +
    `set ${variable} to FOLDER, or let FOLDER be ${folders()[0]}.`
  );
}

/** Runs the client once. Ends within 60 s. */
export async function runTrueNasClient({ ca, ...order }: TrueNasClientInput): Promise<TrueNasClientOutput> {
  const child = spawn(findPython() ?? 'python3', [join(import.meta.dirname, 'truenas-client.py')], {
    env: {
      PATH: process.env['PATH'],
      PYTHONPATH: findFolder(),
      PYTHONDONTWRITEBYTECODE: '1',
      WEBSOCKET_CLIENT_CA_BUNDLE: ca,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const output = { out: '', error: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    output.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.error += chunk.toString();
  });
  child.stdin.end(JSON.stringify(order));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`the official client ended with ${code}:\n${output.error}`);
  return JSON.parse(output.out) as TrueNasClientOutput;
}
