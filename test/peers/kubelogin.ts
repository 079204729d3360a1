import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { findPeer, missingPeers, type PeerName } from './find-peer.ts';

/** How a command ended, and where somebody had to go with a browser meanwhile. */
export interface LoginResult {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
  /** Every address that the browser came by, in order. */
  readonly visited: readonly string[];
}

/** The machine of somebody who logs in: kubectl, its plug-in kubelogin, a home folder, a browser, and nothing else. */
export interface Workstation {
  /** Runs kubectl. Ends within 30 s, whatever happens. */
  kubectl(...args: readonly string[]): Promise<LoginResult>;
  /** Runs the plug-in by itself, likewise. */
  kubelogin(...args: readonly string[]): Promise<LoginResult>;
  /** The plug-in forgets all logins. */
  logOut(): void;
  close(): Promise<void>;
}

/** Why there can be no workstation, in one sentence; undefined when there can. */
export const missingForKubelogin = (): string | undefined => missingPeers('kubectl', 'kubelogin');

/** A workstation with this kubeconfig whose browser trusts this authority (PEM). */
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
  // Without any browser in PATH the plug-in asks people to visit an address.
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
  const said = { out: '', error: '' };
  const visits: Promise<string[]>[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    said.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said.error += chunk.toString();
    const invited = [...said.error.matchAll(loginUrlPattern)].map(([, url = '']) => url);
    for (const url of invited.slice(visits.length)) {
      const visiting = followRedirects(url, agent);
      // What goes wrong is told when the program has ended.
      visiting.catch(() => undefined);
      visits.push(visiting);
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      Promise.all(visits).then((visited) => resolve({ code, ...said, visited: visited.flat() }), reject);
    });
  });
}

/** Goes wherever it is sent, as a browser does. */
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
