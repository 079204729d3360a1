import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { findPeer, missingPeers, type PeerName } from './find-peer.ts';

/** The result of a command, and the addresses that the browser visited meanwhile. */
export interface LoginResult {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
  /** Every address that the browser visited, in order. */
  readonly visited: readonly string[];
}

/** The machine of a user who logs in: kubectl, its plug-in kubelogin, a home folder, a browser, and nothing else. */
export interface Workstation {
  /** Runs kubectl. Ends within 30 s. */
  kubectl(...args: readonly string[]): Promise<LoginResult>;
  /** Runs the plug-in directly, also within 30 s. */
  kubelogin(...args: readonly string[]): Promise<LoginResult>;
  /** Removes all cached logins of the plug-in. */
  logOut(): void;
  close(): Promise<void>;
}

/** Why no workstation is available, in one sentence; undefined when one is. */
export const missingForKubelogin = (): string | undefined => missingPeers('kubectl', 'kubelogin');

/** A workstation with this kubeconfig whose browser trusts this certificate authority (PEM). */
export function openWorkstation(kubeconfig: string, ca: string): Workstation {
  const home = mkdtempSync(join(tmpdir(), 'workstation-'));
  const tools = join(home, 'bin');
  mkdirSync(tools);
  const names: Partial<Record<string, PeerName>> = { kubectl: 'kubectl', 'kubectl-oidc_login': 'kubelogin' };
  for (const [name, peer] of Object.entries(names)) {
    const script = `#!/bin/sh\nexec '${peer && findPeer(peer)}' "$@"\n`;
    writeFileSync(join(tools, name), script, { mode: 0o755 });
  }
  const path = join(home, 'kubeconfig');
  writeFileSync(path, kubeconfig, { mode: 0o600 });
  // Without a browser in PATH the plug-in prints the address to visit.
  const env = { PATH: tools, HOME: home, KUBECONFIG: path };
  const agent = new Agent({ connect: { ca, family: 4 } });
  return {
    kubectl: (...args) => run(join(tools, 'kubectl'), args, env, agent),
    kubelogin: (...args) => run(join(tools, 'kubectl-oidc_login'), args, env, agent),
    logOut: () => rmSync(join(home, '.kube', 'cache', 'oidc-login'), { recursive: true, force: true }),
    close: async () => {
      await agent.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const loginUrlPattern = /visit the following URL in your browser(?: manually)?: (\S+)\n/g;

function run(path: string, args: readonly string[], env: NodeJS.ProcessEnv, agent: Agent): Promise<LoginResult> {
  const child = spawn(path, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000, killSignal: 'SIGKILL' });
  const output = { out: '', error: '' };
  const visits: Promise<string[]>[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    output.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.error += chunk.toString();
    const invited = [...output.error.matchAll(loginUrlPattern)].map(([, url = '']) => url);
    for (const url of invited.slice(visits.length)) {
      const visiting = followRedirects(url, agent);
      // The error is reported when the program has ended.
      visiting.catch(() => undefined);
      visits.push(visiting);
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      Promise.all(visits).then((visited) => resolve({ code, ...output, visited: visited.flat() }), reject);
    });
  });
}

/** Follows redirects like a browser. */
async function followRedirects(url: string, dispatcher: Agent): Promise<string[]> {
  const visited: string[] = [];
  for (let next: string | undefined = url; next !== undefined && visited.length < 10; ) {
    visited.push(next);
    const answer: Awaited<ReturnType<typeof request>> = await request(next, { dispatcher });
    await answer.body.dump();
    const { location } = answer.headers;
    next = location === undefined ? undefined : new URL(String(location), next).href;
  }
  return visited;
}
